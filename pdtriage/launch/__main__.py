"""`python -m pdtriage.launch`: the launch core alone, judged by exit order."""

from __future__ import annotations

import sys

from pdtriage.commands.launch_checks import launch_checks
from pdtriage.launch import end_at_ctrl_c, run
from pdtriage.support.streams import make_usable

make_usable()
end_at_ctrl_c()
sys.exit(run(sys.argv[1:], checks=launch_checks).exit_code)
