"""The stacks of a project and what they have deployed: live records, Pulumi's state and history. It only reads."""
