"""Tables without logic: defaults, and the words other systems use."""
