"""The backend JobSet."""
