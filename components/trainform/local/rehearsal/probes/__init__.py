"""Programs that take the place of the training script under `--probe`: they run in the pods, in the user's image."""
