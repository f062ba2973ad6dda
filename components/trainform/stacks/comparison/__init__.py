"""Compare two versions of an experiment: deployed, released or in a file."""
