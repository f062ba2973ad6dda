"""The programs that trainform runs: found on this machine, downloaded, or built from pinned sources into a cache."""
