"""How the verdict came about, as the last part of a text report."""

from __future__ import annotations

from pdtriage.model import Claim, Evidence, OtherRule, Report, Text
from pdtriage.report.formats.text_page import BOLD, DIM, Page
from pdtriage.report.sanitise import inert_line
from pdtriage.report.words import CONFIDENCES, VERDICTS, location_of, numbers, role_word
from pdtriage.support.text_width import cut

EVIDENCE_LINES = 4


def explanation(report: Report, page: Page) -> None:
    """The rule that decided, those that yielded, lines that did not count, what would change it."""
    told = report.explanation
    if told is None:
        return
    page.line()
    page.line(page.say(Text("How the verdict came about", "结论如何得出")), BOLD)
    rule = f"{told.rule}: " if told.rule else ""
    decided = page.say(Text("decided by ", "决定依据：")) if told.rule else ""
    page.wrap(f"{decided}{rule}{page.say(told.about)}", indent=4, first="  -")
    for line in told.evidence[:EVIDENCE_LINES]:
        _line(page, line)
    for other in told.others:
        page.wrap(_other(other, page), indent=4, first="  -")
    for aside in told.set_aside:
        did_not_count = page.say(Text("did not count", "不计入"))
        page.wrap(f"{did_not_count}{_colon(page)}{page.say(aside.why)}", indent=4, first="  -")
        _line(page, aside.evidence)
    for change in told.changes:
        page.wrap(
            f"{page.say(change.given)}{_colon(page)}{claim_line(change.claim, page)}",
            indent=4,
            first="  -",
        )
    if not told.changes:
        nothing = Text("no single piece of evidence would change it", "任何单项证据都不会改变结论")
        page.wrap(page.say(nothing), indent=4, first="  -")


def claim_line(claim: Claim, page: Page) -> str:
    """`failed, rank 1, data.io (likely)`."""
    parts = [page.say(VERDICTS[claim.verdict]).lower()]
    if claim.category is None:
        return parts[0]
    if claim.ranks:
        word = role_word(claim.role, page.language, many=len(claim.ranks) > 1)
        parts.append(f"{word} {numbers(claim.ranks)}")
    elif claim.role == "launcher":
        parts.append(role_word("launcher", page.language))
    parts.append(claim.category)
    said = page.say(Text(", ", "，")).join(parts)
    sure = page.say(CONFIDENCES[claim.confidence]) if claim.confidence else ""
    return said + page.say(Text(f" ({sure})", f"（{sure}）")) if sure else said


def _other(other: OtherRule, page: Page) -> str:
    said = claim_line(other.claim, page)
    if other.agrees:
        return page.say(
            Text(
                f"{other.rule} agrees: {other.about.en}", f"{other.rule} 结论相同：{other.about.zh}"
            )
        )
    if other.reason is None:
        return page.say(
            Text(
                f"{other.rule}, which comes later, says {said}",
                f"次序靠后的 {other.rule} 认为 {said}",
            )
        )
    return page.say(
        Text(
            f"{other.rule} says {said}, but yields: {other.reason.en}",
            f"{other.rule} 认为 {said}，但让步：{other.reason.zh}",
        )
    )


def _line(page: Page, line: Evidence) -> None:
    page.line(cut(f"    {inert_line(location_of(line))}  {inert_line(line.text)}", page.width), DIM)


def _colon(page: Page) -> str:
    return page.say(Text(": ", "："))
