"""Starts and supervises the processes of a job, and records what it saw.

`run` is the whole of `pdtriage run`. The analysis needs only `pdtriage.launch.record`, so nothing
heavier is imported here.
"""
