"""Checks of this machine and the cluster: what is missing for which command, and how to fix it."""
