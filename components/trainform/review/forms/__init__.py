"""The forms of a review: text for a terminal, Markdown and JSON."""
