"""What a check says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from pdtriage.doctor.context import Situation
from pdtriage.support.errors import UserError
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text

Status = Literal["ok", "warning", "failed", "skipped"]
NOTHING_TO_DO = Text("", "")


class Finding(NamedTuple):
    """One check's answer."""

    id: str
    status: Status
    seen: Text
    """What is there."""
    advice: Text = NOTHING_TO_DO
    """What to do about it; empty where nothing has to be done."""

    def line(self) -> Text:
        """Both in one line."""
        en, zh = self.seen.en.rstrip("."), self.seen.zh.rstrip("。")
        return Text(f"{en}. {self.advice.en}".strip(), f"{zh}。{self.advice.zh}")


class Check(NamedTuple):
    """Something that can be looked at before a job starts."""

    id: str
    look: Callable[[Situation], Finding]
    cheap: bool = False
    """Takes no noticeable time and only speaks up with good reason: `pdtriage run` looks, too."""


def ok(name: str, en: str, zh: str) -> Finding:
    return Finding(name, "ok", Text(en, zh))


def skipped(name: str, en: str, zh: str) -> Finding:
    return Finding(name, "skipped", Text(en, zh))


def warning(name: str, seen: Text, advice: Text) -> Finding:
    return Finding(name, "warning", seen, advice)


def failed(name: str, seen: Text, advice: Text) -> Finding:
    return Finding(name, "failed", seen, advice)


def refused(name: str, refusal: UserError) -> Finding:
    """What `pdtriage run` would refuse to start with."""
    return Finding(name, "failed", refusal.message, refusal.remedy)
