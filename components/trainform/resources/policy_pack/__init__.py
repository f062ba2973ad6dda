"""The environment's limits as a policy pack of Pulumi.

`judgement` reads the resources of the engine and judges one object by the rules, and `policies` is the pack itself,
which `program` and `policy/__main__.py` of a project run.
"""
