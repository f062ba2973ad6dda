"""Objects of Kubernetes' own kinds, as plain dicts; every backend uses them."""
