"""What a launcher's console tells of the launch: its configuration and the first process's table.

Long values are cut by Paddle to `... ` and their last 41 characters; a cut value is left out,
because a host read from it would be wrong.
"""

from __future__ import annotations

import re

from pdtriage.model import EnvBlock
from pdtriage.scan.lines import clean, visible
from pdtriage.scan.side_files import ALLOWED
from pdtriage.support.lazy_regex import late

CONFIGURATION = frozenset(
    {
        "devices",
        "elastic_level",
        "gpus",
        "host",
        "ips",
        "job_id",
        "legacy",
        "master",
        "max_restart",
        "nnodes",
        "nproc_per_node",
        "np",
        "rank",
        "run_mode",
        "server_num",
        "servers",
        "trainer_num",
        "trainers",
        "worker_num",
        "workers",
    }
)

_ROW = late(  # what may be blank is told in one place only: a page of blanks must cost no time
    rb"(?m)^[ \t]*(?:\|[ \t]*)?([A-Za-z_]+)[ \t]{2,}(\S[^|\r\n]*)\|?[ \t\r]*$"
)
_SETTING = late(
    rb"(?m)^(?:LAUNCH INFO \d{4}-\d\d-\d\d [\d:,]+ )?([a-z_]{2,24}): ?([^\r\n]{0,300})$"
)
_OPENING = late(
    rb"(?m)^.*-----------  Configuration(?:  -----|\s+Arguments -----).*$|^.*Distributed Envs .*$"
)
NEAR = 4_000
"""A table is no longer than this."""


def console_blocks(raw: bytes) -> list[EnvBlock]:
    """One block per table, in the order of the file; settings are prefixed with `--`."""
    blocks = []
    for opening in _OPENING.finditer(raw):
        region = raw[opening.end() : opening.end() + NEAR]
        is_table = b"Distributed Envs" in opening[0]
        region = _until_rule(region, skip=1 if is_table else 0)
        values = _table(region) if is_table else _settings(region)
        if values:
            line = raw.count(b"\n", 0, opening.start()) + 1
            blocks.append(EnvBlock(line, values, opening.start()))
    return blocks


def _until_rule(region: bytes, skip: int) -> bytes:
    """Up to the line of dashes or equal signs that closes the block."""
    rules = [m.start() for m in re.finditer(rb"(?m)^.{0,60}?[-=]{30,}.*$", region)]
    return region[: rules[skip]] if len(rules) > skip else region


def _table(region: bytes) -> dict[str, str]:
    values = {}
    for found in _ROW.finditer(region):
        name, value = found[1].decode("ascii", "replace"), clean(visible(found[2])).strip()
        if name in ALLOWED and value and not value.startswith("..."):
            values[name] = value
    return values


def _settings(region: bytes) -> dict[str, str]:
    values = {}
    for found in _SETTING.finditer(region):
        name, value = found[1].decode("ascii", "replace"), clean(found[2]).strip()
        if name in CONFIGURATION and value not in ("", "None"):
            values["--" + name] = value
    return values
