"""The programs that start in a pod: launch scripts, checkout of code, SSH."""
