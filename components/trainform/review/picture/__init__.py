"""The picture of a job: its parts before and after."""
