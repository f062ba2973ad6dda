"""A review of a preview: what happens to the run, the data, the bill and the neighbours in the queue, as a report that
is safe to post."""
