"""The files that `trainform init` and `trainform new` write: text from plain data. The command line reads and writes
the files."""
