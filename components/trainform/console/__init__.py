"""The output for people, and files on disk: lines, progress, escaped and masked text, atomic writes."""
