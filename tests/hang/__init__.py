"""Jobs that stand still."""
