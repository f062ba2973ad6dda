"""Benchmarks: `make bench` measures and prints them, `docs/reference/benchmarks.md` has the results."""
