"""What trainform costs, measured: `make bench` prints it, `docs/benchmarks.md` keeps it."""
