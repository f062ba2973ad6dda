"""The backend Kubeflow: its training-operator v1."""
