"""The program of every stack; what differs between stacks is in their config."""

from trainform.resources.program import run

run()
