"""Pages of the documentation that are generated from tables in the code."""
