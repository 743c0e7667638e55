"""The nouns of pdtriage: what crosses from one step of the pipeline to the next.

Everything here is frozen, typed and free of I/O. Reading order is the order of the pipeline:
a `LogFile` is found, scanned into `FileFacts` (events), sorted into a `RunFacts` (who wrote what
in which run) and judged into a `Report`.

They are named tuples, because those are cheap to define (with dataclasses this module alone took a
tenth of a small analysis), to make and to send. A few of their fields hide a method of tuples that
nobody needs of a noun; what stands as a default is shared and never changed.
"""

from __future__ import annotations

# ruff: noqa: F403 - all of them are exported
from pdtriage.model.kinds import *
from pdtriage.model.logs import *
from pdtriage.model.report import *
from pdtriage.model.runs import *
from pdtriage.model.stacks import *
from pdtriage.support.language import LANGUAGES as LANGUAGES
from pdtriage.support.language import Language as Language
from pdtriage.support.language import Text as Text
