"""Bytes of strangers for every reader and parser; `python -m tests.fuzz` looks for new ones."""
