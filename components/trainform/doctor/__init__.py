"""What is there, what is missing for which verb, and the command that mends it: a table of checks, and what follows from their findings."""
