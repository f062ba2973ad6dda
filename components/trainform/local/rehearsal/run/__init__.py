"""One rehearsal, from its first container to its report."""
