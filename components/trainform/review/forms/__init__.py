"""The forms of a report: text for a terminal, Markdown and JSON."""
