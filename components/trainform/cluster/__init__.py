"""Reads from the live cluster. Nothing in this package changes the cluster."""
