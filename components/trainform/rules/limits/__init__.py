"""The limits of an environment: one table of rules (`table`) that judge rendered objects, whoever rendered them.

`judged` has what is judged, `rule` what a rule is and finds, `origins` the field of an experiment that a finding comes
from, and `waivers` the findings that an experiment may have in spite of a rule.
"""
