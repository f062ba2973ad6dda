"""The picture of a job: its parts before and after, as Mermaid and as SVG."""
