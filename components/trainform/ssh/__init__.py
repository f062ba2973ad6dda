"""The SSH identity of a job: keys that are derived from a secret, and the files of `~/.ssh` with them."""
