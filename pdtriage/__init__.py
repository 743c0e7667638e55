"""Which rank failed first, on which host and card, why, and what to do.

>>> import pdtriage
>>> report = pdtriage.analyze("log/")
>>> print(report.verdict, report.root_causes[0].title.en)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"
__all__ = [
    "NotAvailableError",
    "NothingToAnalyse",
    "Report",
    "__version__",
    "analyze",
    "analyze_all_runs",
]

if TYPE_CHECKING:
    from pdtriage.analysis.pipeline import NothingToAnalyse, analyze, analyze_all_runs
    from pdtriage.model import Report
    from pdtriage.support.errors import NotAvailableError


def __getattr__(name: str) -> object:
    """Imports on first use: `pdtriage --version` must not wait for the scanner."""
    if name == "Report":
        from pdtriage.model import Report

        return Report
    if name == "NotAvailableError":
        from pdtriage.support.errors import NotAvailableError

        return NotAvailableError
    if name in ("NothingToAnalyse", "analyze", "analyze_all_runs"):
        from pdtriage.analysis import pipeline

        return getattr(pipeline, name)
    raise AttributeError(f"module 'pdtriage' has no attribute {name!r}")
