"""The backend Volcano."""
