"""What is deployed on a live cluster, as the last `pulumi up` of each experiment has recorded it. Nothing here changes
the cluster."""
