"""The backend Kubeflow Trainer v2."""
