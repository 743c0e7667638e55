"""Values of a log line in the texts of its signature: `{module}` is what its pattern captured.

Within backticks stands a command that people paste into a shell: there a value is quoted, and one
that a shell, a program or a terminal could take for more than a value is not used at all.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping

from pdtriage.knowledge.signature import Signature
from pdtriage.model import Text
from pdtriage.support.lazy_regex import lazy_compile
from pdtriage.support.text_width import columns

ALWAYS = ("rank", "host", "code")
"""Slots that no pattern has to capture: who failed, where, and at which line of whose code."""
OF_A_DEATH = ("signal", "exit_code", "rss", "limit")
"""Those of signatures that tell of a death, not of a line."""
TITLE_COLUMNS = 70
_LONGEST = 300
_SLOT = lazy_compile(r"\{([a-z_]+)\}")
_COMMAND = lazy_compile(r"(`[^`]*`)")
_HARMLESS = lazy_compile(r"[\w@%+=:,./][\w@%+=:,./-]*", re.ASCII)


def slots_in(*texts: Text | None) -> set[str]:
    """The names that are to be filled in."""
    return {name for text in texts if text for said in text for name in _SLOT.findall(said)}


def general(text: Text) -> Text:
    """For a page that tells of no log: `pip install <module>`."""
    return Text(*(_SLOT.sub(r"<\1>", said) for said in text))


def filled(text: Text, values: Mapping[str, str]) -> Text | None:
    """With the values in it; None where one is missing or cannot be shown safely."""
    try:
        return Text(*("".join(_parts(said, values)) for said in text))
    except KeyError:
        return None


def title_with(signature: Signature, values: Mapping[str, str]) -> Text:
    """What happened, with the values if they fit into a line."""
    if signature.full_title is not None:
        full = filled(signature.full_title, {name: _short(v) for name, v in values.items()})
        if full and all(columns(said) <= TITLE_COLUMNS for said in full):
            return full
    return signature.title


def steps_with(signature: Signature, values: Mapping[str, str]) -> tuple[Text, ...]:
    """The advice that can be given."""
    steps = [filled(step, values) for step in signature.advice]
    return tuple([step for step in steps if step is not None])


def _parts(said: str, values: Mapping[str, str]) -> Iterator[str]:
    for part in _COMMAND.split(said):
        is_command = part.startswith("`")
        end = 0
        for slot in _SLOT.finditer(part):
            before = part[: slot.start()]
            yield part[end : slot.start()]
            value = _plain(values[slot[1]])
            yield _argument(value, before) if is_command else value
            end = slot.end()
        yield part[end:]


def _plain(value: str) -> str:
    value = value.strip()
    if not value or len(value) > _LONGEST or "`" in value or not value.isprintable():
        raise KeyError(value)
    return value


def _argument(value: str, before: str) -> str:
    """A value as a word of a command, or as a part of one where letters stand before it."""
    if value.startswith("-"):
        raise KeyError(value)
    is_in_quotes = before.count("'") % 2 or before.count('"') % 2
    if is_in_quotes and not _HARMLESS.fullmatch(value):
        raise KeyError(value)
    return value if is_in_quotes else shlex.quote(value)


def _short(value: str) -> str:
    """A path in a title: its end says most."""
    folder, slash, name = value.rpartition("/")
    return f"…/{name}" if slash and len(folder) > 24 else value
