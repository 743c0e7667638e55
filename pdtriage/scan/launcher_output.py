"""What a launcher tells of the launch: small files beside the logs, and tables on its console.

The files hold the whole environment of the job, secrets included: only variables on the allow-list
ever leave this module.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from pdtriage.masking.variables import ALLOWED
from pdtriage.model import CardSample, EnvBlock, FileFacts, LogFile, Text
from pdtriage.scan.clock import days_to_month
from pdtriage.scan.lines import readable_line, visible_part
from pdtriage.scan.peer_list import MOST_PEERS, is_peer_list, peers_in
from pdtriage.support.errors import assert_never
from pdtriage.support.lazy_regex import lazy_compile

MOST_BYTES = 16 << 20

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
"""Settings of a launch that its console tells, and which matter."""
LONGEST_NUMBER = 40
"""Digits; names and keys may have many, no rank and no port."""
TABLE = 4_000
"""Bytes; a table on a console is no longer."""
MOST_SAMPLES = 60
"""Of each card."""
MOST_CARDS = 64

_ASSIGNMENT = lazy_compile(r"^([A-Za-z_][A-Za-z0-9_]*)=(.*)$")
_ENDPOINT = lazy_compile(r"^\s*((?:\[[0-9a-fA-F:]+\]|[\w.-]+):\d{1,5})\s*$")
_LONG_NUMBER = lazy_compile(rf"\d{{{LONGEST_NUMBER + 1}}}")
_CARD_LINE = lazy_compile(
    rb"^(\d{1,3}), ?(\d{1,3}), ?(\d{1,9})(?:\.\d+)?, ?(\d{1,9})(?:\.\d+)?, ?[\d.]{1,20}, ?"
    rb"(\d{4})[-/](\d\d)[-/](\d\d) (\d\d):(\d\d):(\d\d)",
    re.MULTILINE,
)
_PEER_KEYS = frozenset({"name", "rank", "replicas", "dtype", "candidate", "endpoints"})
_ROW = (
    lazy_compile(  # what may be blank is told in one place only: a page of blanks must cost no time
        rb"(?m)^[ \t]*(?:\|[ \t]*)?([A-Za-z_]+)[ \t]{2,}(\S[^|\r\n]*)\|?[ \t\r]*$"
    )
)
_SETTING = lazy_compile(
    rb"(?m)^(?:LAUNCH INFO \d{4}-\d\d-\d\d [\d:,]+ )?([a-z_]{2,24}): ?([^\r\n]{0,300})$"
)
_TABLE_BEGINS = lazy_compile(
    rb"(?m)^.*-----------  Configuration(?:  -----|\s+Arguments -----).*$|^.*Distributed Envs .*$"
)


def side_facts(file: LogFile, raw: bytes) -> FileFacts:
    """The facts of a small file beside the logs; what cannot be read is noted."""
    if file.kind == "k8s":
        from pdtriage.scan.kubernetes import kubernetes_facts  # few folders have any

        return kubernetes_facts(file, raw)
    if file.kind == "gpu":
        return FileFacts(file=file, bytes=len(raw), cards=card_samples(raw))
    environments: list[EnvBlock] = []
    endpoints: tuple[str, ...] = ()
    notes: tuple[Text, ...] = ()
    try:
        match file.kind:
            case "env":
                environments = list(_env_blocks(_readable(raw)))
            case "backup_env":
                environments = [_backup_env(_readable(raw))]
            case "pod":
                environments = list(_pod_blocks(_readable(raw)))
            case "endpoints":
                endpoints = _endpoints_in(raw)
            case "worker" | "server" | "heter" | "coordinator" | "console" | "kernel" | "ras":
                pass  # those are scanned
            case "record" | "report" | "gpu" | "other":
                pass
            case never:
                assert_never(never)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        notes = (
            Text(
                en=f"{file.path} is damaged and was not used",
                zh=f"{file.path} 已损坏，未采用",
            ),
        )
    return FileFacts(
        file=file,
        environments=tuple(environments),
        endpoints=endpoints,
        lines=raw.count(b"\n") + 1,
        bytes=len(raw),
        notes=notes,
    )


def _readable(raw: bytes) -> str:
    return "\n".join(readable_line(line) for line in raw.split(b"\n"))


@lru_cache(maxsize=1)
def _endpoints_in(raw: bytes) -> tuple[str, ...]:
    """Remembered: every node of a job has the same list of all its ranks."""
    found = (_ENDPOINT.match(line) for line in _readable(raw).splitlines())
    return tuple([match[1] for match in found if match])


def _env_blocks(text: str) -> Iterator[EnvBlock]:
    """envlog.N is appended to at every launch, variables sorted by name: a repeat opens a block."""
    values: dict[str, str] = {}
    first = 1
    previous = ""
    for number, line in enumerate(text.splitlines(), 1):
        found = _ASSIGNMENT.match(line)
        if not found:
            continue
        name = found[1]
        if values and (name in values or (name < previous and name < "D")):
            yield EnvBlock(first, _allowed_values(values))
            values, first = {}, number
        values[name] = found[2]
        previous = name
    if values:
        yield EnvBlock(first, _allowed_values(values))


def _backup_env(text: str) -> EnvBlock:
    import json  # it takes 3 ms, and most jobs have no such file

    document = json.loads(text)
    if not isinstance(document, dict):
        raise ValueError("not an object")
    return EnvBlock(1, _allowed_values({str(k): str(v) for k, v in document.items()}))


def _pod_blocks(text: str) -> Iterator[EnvBlock]:
    """Every line that is a peer list: one block per pod of the job, in the order of the list."""
    left = MOST_PEERS
    for number, line in enumerate(text.splitlines(), 1):
        if not is_peer_list(line):
            continue
        for place, peer in enumerate(peers_in(line)):
            left -= 1
            if left < 0:
                raise ValueError("more pods than any job has")
            values = {name: value for name, value in peer.items() if name in _PEER_KEYS}
            yield EnvBlock(number, {**_with_short_numbers(values), "place": str(place)})


def _allowed_values(values: Mapping[str, str]) -> dict[str, str]:
    return _with_short_numbers({name: value for name, value in values.items() if name in ALLOWED})


def _with_short_numbers(values: dict[str, str]) -> dict[str, str]:
    """The values but for numbers so long that Python refuses to read them."""
    return {
        name: value
        for name, value in values.items()
        if len(value) <= LONGEST_NUMBER or _LONG_NUMBER.search(value) is None
    }


def console_blocks(raw: bytes) -> list[EnvBlock]:
    """One block per table on a console, in its order; settings are prefixed with `--`.

    Long values are cut by Paddle to `... ` and their last 41 characters; a cut value is left out,
    because a host read from it would be wrong.
    """
    blocks = []
    for opening in _TABLE_BEGINS.finditer(raw):
        region = raw[opening.end() : opening.end() + TABLE]
        is_table = b"Distributed Envs" in opening[0]
        region = _until_rule(region, skip=1 if is_table else 0)
        values = _table(region) if is_table else _settings(region)
        if values:
            line = raw.count(b"\n", 0, opening.start()) + 1
            blocks.append(EnvBlock(line, values, opening.start()))
    return blocks


def _until_rule(region: bytes, skip: int) -> bytes:
    """The text up to the line of dashes or equal signs that closes the block."""
    rules = [m.start() for m in re.finditer(rb"(?m)^.{0,60}?[-=]{30,}.*$", region)]
    return region[: rules[skip]] if len(rules) > skip else region


def _table(region: bytes) -> dict[str, str]:
    values = {}
    for found in _ROW.finditer(region):
        name, value = (
            found[1].decode("ascii", "replace"),
            readable_line(visible_part(found[2])).strip(),
        )
        if name in ALLOWED and value and not value.startswith("..."):
            values[name] = value
    return _with_short_numbers(values)


def _settings(region: bytes) -> dict[str, str]:
    values = {}
    for found in _SETTING.finditer(region):
        name, value = found[1].decode("ascii", "replace"), readable_line(found[2]).strip()
        if name in CONFIGURATION and value not in ("", "None"):
            values["--" + name] = value
    return _with_short_numbers(values)


def card_samples(raw: bytes) -> tuple[CardSample, ...]:
    """A few samples of every card in `<job>.gpu.log`, spread over it.

    The first, the last and the one with most memory in use are among them.

    After two lists of cards and processes every line tells of one card: its number, how busy it is
    in per cent, megabytes in all, in use and free, and the time of the machine's clock.
    """
    cards: dict[int, list[CardSample]] = {}
    for found in _CARD_LINE.finditer(raw):
        card, busy, total, used, year, month, day, hour, minute, second = map(int, found.groups())
        if not (1 <= month <= 12 and 1 <= day <= 31 and busy <= 100):
            continue
        days = days_to_month(year, month) + day - 1
        time = float(((days * 24 + hour) * 60 + minute) * 60 + second)
        if card in cards or len(cards) < MOST_CARDS:
            cards.setdefault(card, []).append(CardSample(time, card, busy, used, total))
    return tuple(sorted(sample for own in cards.values() for sample in _spread(own)))


def _spread(samples: Sequence[CardSample]) -> list[CardSample]:
    if len(samples) <= MOST_SAMPLES:
        return list(samples)
    fullest = max(range(len(samples)), key=lambda place: samples[place].used_mb)
    last = len(samples) - 1
    kept = {last * place // (MOST_SAMPLES - 2) for place in range(MOST_SAMPLES - 1)} | {fullest}
    return [samples[place] for place in sorted(kept)]
