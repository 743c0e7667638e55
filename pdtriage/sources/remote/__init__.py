"""Logs behind a URL, through fsspec; imported only where there is one."""
