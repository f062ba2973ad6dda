"""Which texts are secrets: by the name of a value (`names`), by a shape that only secrets have (`shapes`), and by the place in a command
(`commands`). `search` looks for all three.

A row of these tables is found by the test that has its title. `escaping` is all that stands below: `errors` masks by these tables, and
`rules.limits.secrets` refuses by them.
"""
