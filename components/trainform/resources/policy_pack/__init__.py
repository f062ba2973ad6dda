"""The environment's limits as a policy pack of Pulumi.

`properties` reads what the engine gives, `judgement` judges one object by the rules' table, and `policies` is the pack
itself, which `program` and `policy/__main__.py` of a project run.
"""
