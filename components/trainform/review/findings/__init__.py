"""What a reviewer must know, a module per category."""
