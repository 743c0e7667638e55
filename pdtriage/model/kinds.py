"""The kinds of files a job leaves behind."""

from __future__ import annotations

from typing import Literal

FileKind = Literal[
    "worker",  # workerlog.N
    "server",  # serverlog.N
    "heter",  # heterlog.N
    "coordinator",  # coordinator.N
    "console",  # captured output of a launcher, or of a whole job
    "endpoints",  # endpoints.log of the legacy launcher
    "pod",  # <job>.<pod>.log of the new launcher
    "env",  # envlog.N
    "backup_env",  # backup_env.N.json
    "gpu",  # <job>.gpu.log
    "kernel",  # dmesg, kern.log, journal
    "k8s",  # pods, events and PaddleJobs as kubectl shows them
    "record",  # our own run record
    "other",
]
