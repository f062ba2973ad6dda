"""What a person sees, and files on disk: lines, progress, escaped and masked text, files written as a whole."""
