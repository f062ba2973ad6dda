"""The texts of the files that `trainform init` and `trainform new` write, from plain data."""
