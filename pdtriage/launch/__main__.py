"""`python -m pdtriage.launch`: the launch core alone, judged by exit order."""

from __future__ import annotations

import sys

from pdtriage.launch import run

sys.exit(run(sys.argv[1:]).exit_code)
