"""A review that is saved, and what has moved since then: the precondition under which `trainform apply` runs `pulumi
up`."""
