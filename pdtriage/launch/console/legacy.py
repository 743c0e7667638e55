"""What Paddle's legacy launcher shows before a collective job, for those who use its flags."""

from __future__ import annotations

from pdtriage.launch.console.parameter_server import table
from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.launch.plan.process_plan import Plan

_LEGACY_FLAGS = ("ips", "backend", "legacy")


def uses_legacy_flags(flags: LaunchFlags) -> bool:
    """`--ips`, `--backend`, `--legacy`, or cards in another word than `--devices`."""
    by_cards = flags.devices is not None and flags.device_flag != "devices"
    return by_cards or any(name in flags.given for name in _LEGACY_FLAGS)


def planned_lines(plan: Plan) -> list[str]:
    """How many processes, with the variables of the first one, and where to read on."""
    first = plan.processes[0]
    folder = plan.log_dir.rstrip("/") or "/"
    return [
        f"Local start {len(plan.processes)} processes. First process distributed environment "
        f"info (Only For Debug): {table(first.variables)}",
        "details abouts PADDLE_TRAINER_ENDPOINTS can be found in "
        f"{folder}/endpoints.log, and detail running logs maybe found in {folder}/{first.log}",
    ]
