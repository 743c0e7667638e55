"""Secrets: what they look like, and how a report loses them."""
