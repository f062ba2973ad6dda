"""Jobs that consist of replica specs, which Kubeflow's training-operator and KubeDL share."""
