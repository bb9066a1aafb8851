"""RubricWeb. Its version is stated on every board and export."""

__version__ = "0.1.0"
