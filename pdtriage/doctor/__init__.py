"""Looks at a machine before a job starts: what is fine, what may go wrong, what will.

    from pdtriage.doctor import examine
    findings = examine(Context(flags, os.environ))

One file per family of checks; a new check is one function and one line in its family's `CHECKS`.
"""

from __future__ import annotations

from pdtriage.doctor.context import Context
from pdtriage.doctor.findings import Finding, cheap_findings, examine, worst

__all__ = ["Context", "Finding", "cheap_findings", "examine", "worst"]
