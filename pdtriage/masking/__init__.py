"""Secrets: what they look like, and how text, reports and command lines lose them."""
