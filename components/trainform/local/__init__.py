"""The local machine: tool chain, sandbox, rehearsal, doctor, and the files of a new project."""

__all__ = ["docker_daemon", "doctor", "rehearsal", "sandbox", "scaffold", "toolchain"]
