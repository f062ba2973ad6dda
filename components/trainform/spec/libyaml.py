"""PyYAML's classes over libyaml; where it was built without, those in Python: the same, a tenth as fast."""

try:
    from yaml import CSafeDumper as Dumper
    from yaml import CSafeLoader as Loader
except ImportError:
    from yaml import SafeDumper as Dumper  # type: ignore[assignment]
    from yaml import SafeLoader as Loader  # type: ignore[assignment]

__all__ = ["Dumper", "Loader"]
