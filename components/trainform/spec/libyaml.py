"""PyYAML's loader and dumper: those of libyaml, or the ten times slower ones in Python if PyYAML lacks it."""

try:
    from yaml import CSafeDumper as Dumper
    from yaml import CSafeLoader as Loader
except ImportError:
    from yaml import SafeDumper as Dumper  # type: ignore[assignment]
    from yaml import SafeLoader as Loader  # type: ignore[assignment]

__all__ = ["Dumper", "Loader"]
