"""The backend KubeDL."""
