"""The limits of an environment: one table of rules (`table`) for rendered objects of trainform or of other programs.

`rule` defines rules, findings and the objects that are judged. `origins` finds the field of an experiment that causes a
finding, and `table` applies the waivers of an experiment.
"""
