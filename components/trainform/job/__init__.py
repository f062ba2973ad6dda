"""Two files to a checked job: objects, revision, rendering, checking; the same for an environment alone."""

__all__ = ["check", "render", "render_platform"]
