"""Fills a folder with what a job left elsewhere, for `pdtriage analyze`. So far: Kubernetes."""
