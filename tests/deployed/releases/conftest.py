"""A program in the engine's place, as in `tests/deployed`."""

from tests.deployed.conftest import pulumi as pulumi
