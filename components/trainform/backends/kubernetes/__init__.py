"""The backend Kubernetes: a plain Job."""
