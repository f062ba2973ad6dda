"""Checks of this machine and the cluster, as a table: what is found, what is missing for which command, and how to fix
it."""
