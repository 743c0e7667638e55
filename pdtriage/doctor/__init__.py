"""Looks at a machine before a job starts: what is fine, what may go wrong, what will.

    from pdtriage.doctor import examine
    findings = examine(Situation(flags, os.environ))

One file per family of checks; a new check is one function and one line in its family's `CHECKS`.
"""

from __future__ import annotations

from pdtriage.doctor.context import Situation
from pdtriage.doctor.finding import Finding
from pdtriage.doctor.runner import cheap_findings, examine, worst

__all__ = ["Finding", "Situation", "cheap_findings", "examine", "worst"]
