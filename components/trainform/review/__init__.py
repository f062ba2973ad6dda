"""A preview as a report that is safe to post: the run, the data, the cost and the queue."""
