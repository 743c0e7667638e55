"""Looks at a machine before a job starts: what is fine, what may go wrong, what will.

    from pdtriage.doctor import examine
    findings = examine(Situation(flags, os.environ))

One file per family of checks; a new check is one function and one line in its family's `CHECKS`.
"""

from __future__ import annotations

from pdtriage.doctor.examination import cheap_findings, examine, worst
from pdtriage.doctor.finding import Finding
from pdtriage.doctor.situation import Situation

__all__ = ["Finding", "Situation", "cheap_findings", "examine", "worst"]
