"""What people are told of a failure: who, why, what to do first, and where to read on.

Made of the plain values of a report (`pdtriage.report/1`), which is masked already.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pdtriage.model import FAILURES
from pdtriage.model.kinds import process_name
from pdtriage.record.fields import Json, count, items, mapping, mappings, text, texts
from pdtriage.report.sanitise import inert_line
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Language, Text
from pdtriage.support.text_width import cut

LONGEST = 300
_MENTION = re.compile(r"<(?=[!@#]|/?at\b)|@(?=(?:all|here|channel|everyone)\b)")
"""What chats take for a call to everybody; a log is not to wake them all."""
_WORDS = {
    "failed": Text("FAILED", "失败"),
    "hung": Text("HUNG", "卡住"),
    "interrupted": Text("INTERRUPTED", "被中断"),
}


class Message(NamedTuple):
    title: str
    body: str


def message_on(
    values: Mapping[str, Any], place: str, environment: Mapping[str, str], seen: str = ""
) -> Message | None:
    """None where nothing failed. `place` is where the logs lie, `seen` what a history tells."""
    report: Json = dict(values)
    causes = mappings(report, "root_causes", 1)
    verdict = text(report, "verdict")
    if not causes and verdict not in FAILURES:
        return None
    language: Language = "zh" if text(report, "language") == "zh" else "en"
    word = _WORDS.get(verdict, Text(verdict.upper(), verdict)).in_(language)
    cause: Json = causes[0] if causes else {}
    who = _culprit(cause, mapping(report, "job"), language)
    title = f"pdtriage: {word}" + (f": {who}" if who else "")
    lines = [*_story(cause, language), seen, *_links(cause, place, environment, language)]
    return Message(_line(title), "\n".join(map(_line, filter(None, lines))))


def _culprit(cause: Json, job: Json, language: Language) -> str:
    rank, ranks = count(cause, "rank"), len(items(cause, "ranks"))
    who = process_name(text(cause, "role"), rank)
    if ranks > 1:
        who += f" (+{ranks - 1})"
    world = count(job, "world_size")
    if rank is not None and world and text(cause, "role") == "worker":
        who += Text(f" of {world}", f"（共 {world} 个）").in_(language)
    return ", ".join(filter(None, [who, text(cause, "host"), text(cause, "device")]))


def _story(cause: Json, language: Language) -> Iterable[str]:
    yield text(cause, "title")
    for line in mappings(cause, "evidence", 1):
        yield f"{text(line, 'file')}:{count(line, 'line') or 1}: {text(line, 'text')}"
    for step in texts(cause, "advice")[:1]:
        yield Text(f"Do first: {step}", f"首先：{step}").in_(language)


def _links(
    cause: Json, place: str, environment: Mapping[str, str], language: Language
) -> Iterable[str]:
    if place:
        yield Text(f"Logs: {place}", f"日志：{place}").in_(language)
    page = _page_of_ci(environment)
    if page:
        yield page
    if signature := text(cause, "signature"):
        more = f"pdtriage explain {signature}"
        yield Text(f"More: {more}", f"详情：{more}").in_(language)


def _page_of_ci(environment: Mapping[str, str]) -> str:
    """The page of the run or build that we are part of."""
    if run := environment.get("GITHUB_RUN_ID"):
        server = environment.get("GITHUB_SERVER_URL", "https://github.com")
        return f"{server}/{environment.get('GITHUB_REPOSITORY', '')}/actions/runs/{run}"
    return environment.get("CI_JOB_URL") or environment.get("BUILD_URL") or ""


def _line(words: str) -> str:
    harmless = _MENTION.sub(lambda match: "＜" if match[0] == "<" else "＠", inert_line(words))
    return cut(harmless, LONGEST)
