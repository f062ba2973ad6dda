"""The SSH identity of a job: keys that follow from a secret, and the files of `~/.ssh` made of them."""
