"""The environment's limits as a policy pack of Pulumi, for programs that use the components from Python or not at all.

`properties` reads what the engine gives, `unknown` marks what a preview cannot know, `judgement` judges one object by the rules' table, and
`program` is the pack itself, which `policy/__main__.py` of a project runs.
"""
