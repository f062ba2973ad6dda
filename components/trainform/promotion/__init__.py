"""A promotion before anything is written: what the release would be, what it changes in its target, and which gates
hold."""
