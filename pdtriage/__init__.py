"""Which rank failed first, on which host and card, why, and what to do.

>>> import pdtriage
>>> report = pdtriage.analyze("log/")
>>> print(report.verdict, report.root_causes[0].title.en)
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing it from typing would take longer than everything else here
__version__ = "0.1.0"
__all__ = [
    "NotAvailableError",
    "NothingToAnalyse",
    "Report",
    "__version__",
    "analyze",
    "analyze_all_runs",
    "mapper_of",
]

if TYPE_CHECKING:
    from pdtriage.analysis.pipeline import NothingToAnalyse, analyze, analyze_all_runs
    from pdtriage.model import Report
    from pdtriage.reading import mapper_of
    from pdtriage.support.errors import NotAvailableError

_HOMES = {
    "NotAvailableError": "pdtriage.support.errors",
    "NothingToAnalyse": "pdtriage.analysis.pipeline",
    "Report": "pdtriage.model",
    "analyze": "pdtriage.analysis.pipeline",
    "analyze_all_runs": "pdtriage.analysis.pipeline",
    "mapper_of": "pdtriage.reading",
}


def __getattr__(name: str) -> object:
    """Imports on first use: `pdtriage --version` must not wait for the scanner."""
    from importlib import import_module

    if name == "mapping":
        return import_module("pdtriage.mapping")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'pdtriage' has no attribute {name!r}")
