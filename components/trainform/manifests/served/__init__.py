"""What an API server takes: tables of fields, and what in an object violates them."""
