"""The limits of an environment: one table of rules (`table`) for rendered objects of trainform or of other programs.

`judged` defines the input of the rules, and `rule` rules and findings. `origins` finds the field of an experiment that
causes a finding, and `waivers` applies the waivers of an experiment.
"""
