"""The parts of a rehearsal on real nodes that need no node."""
