"""What makes an experiment or an environment invalid: pure functions from models, plan and rendered objects to
problems."""
