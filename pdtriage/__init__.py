"""Which rank failed first, on which host and card, why, and what to do."""

__version__ = "0.1.0"
