"""One module per family of checks; each lists its checks in `CHECKS`."""
