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
from pdtriage.support.lazy_regex import lazy_compile, limited_compile
from pdtriage.support.text_width import columns

ALWAYS = ("rank", "host", "code", "message", "log", "lines", "script")
"""Slots that no pattern has to capture: who failed, where, at which line of whose code, what the
line says, in which log and in which lines of it, and what was launched."""
SCRIPT = "train.py"
"""What a training script is called where nobody knows."""
OF_A_DEATH = ("signal", "exit_code", "rss", "limit")
"""Those of signatures that tell of a death, not of a line."""
TITLE_COLUMNS = 70
"""Of a title as it is written down; with values in it, it may fill a line of a terminal."""
FULL_COLUMNS = 78
_LONGEST = 300
_LEAST_QUOTE = 24
"""Columns below which what is left of a message says nothing."""
_SLOT = lazy_compile(r"\{([a-z_]+)\}")
_COMMAND = lazy_compile(r"(`[^`]*`)")
_PATH = lazy_compile(r"(?<![\w.])/[^\s'\"]+")
_SENTENCE = lazy_compile(r"[.!?;](?= )|[。；！？]")
_CLAUSE = lazy_compile(r"(?:,| \(|:)(?= )")
_CLASS = lazy_compile(r"^(?:[\w.]{0,60}\.)?(\w{1,60}: )(?=\S)(?:\(\w{1,40}\) )?")
_SIZE = lazy_compile(r"(\d{1,15})(?:\.(\d)\d*)? ?([kKMGT]i?B)")
_BYTES = lazy_compile(r"(\d{4,18})(?: bytes)?")
_UNPRINTABLE = lazy_compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]")
_HARMLESS = lazy_compile(r"[\w@%+=:,./][\w@%+=:,./-]*", re.ASCII)


def slots_in(*texts: Text | None) -> set[str]:
    """The names that are to be filled in."""
    return {name for text in texts if text for said in text for name in _SLOT.findall(said)}


def general(text: Text) -> Text:
    """The text for a page that tells of no log, with names for values: `pip install <module>`."""
    return Text(*(_SLOT.sub(r"<\1>", said.replace("{script}", SCRIPT)) for said in text))


def fill_slots(text: Text, values: Mapping[str, str]) -> Text | None:
    """The text with its values; None where one is missing or cannot be shown safely."""
    try:
        return Text(*("".join(_parts(said, values)) for said in text))
    except KeyError:
        return None


def title_with(signature: Signature, values: Mapping[str, str]) -> Text:
    """What happened, with the values if they fit into a line."""
    if signature.full_title is None:
        return signature.title
    called = _called(signature, values)
    short = {name: _short(value) for name, value in called.items()}
    for shown in (called, short):
        title = Text(*(_title_in(said, shown, values) for said in signature.full_title))
        if all(title):
            return title
    return signature.title


def title_with_message(title: Text, message: str) -> Text:
    """A general title with the message behind it, or alone where hardly any of it had room."""
    rest = [FULL_COLUMNS - columns(f"{said}: ") for said in title]
    if min(rest) < _LEAST_QUOTE:
        return title
    said = fit_message(message, min(rest))
    return Text(f"{title.en}: {said}", f"{title.zh}：{said}") if said else title


def fit_message(message: str, width: int) -> str:
    """A message in at most so many columns: folders of long paths go first, then the class of an
    exception, then what stands behind the first sentence. Where no sentence fits it may fill a
    second line; of what is longer than that words from the end are cut."""
    said = " ".join(_UNPRINTABLE.sub(" ", message[:2000]).replace("`", "'").split())
    said = said.removeprefix("| ")  # the frame drawn around a group's members
    if columns(said) > width:
        said = _PATH.sub(lambda path: _short(path[0]), said)
    if columns(said) > width:
        said = _beginning_of(said, width) or _CLASS.sub("", said, 1) or said
    if columns(said) > width and (whole := _beginning_of(said, width + FULL_COLUMNS)):
        return whole
    while columns(said) > width:
        shorter = said.rstrip("…").rstrip().rpartition(" ")[0].rstrip(" ,;:([{'\"=")
        said = f"{shorter} …" if shorter else ""
    return said


def _beginning_of(said: str, width: int) -> str:
    """Whole sentences, or else clauses, that say something; where they fit, with the class."""
    for ends in (_ends_of_sentences, _ends_of_clauses):
        for words in (said, _CLASS.sub("", said, 1)):
            whole = [words[:end] for end in ends(words)]
            fitting = [part for part in whole if columns(part) <= width and _says_much(part)]
            if fitting:
                return fitting[-1]
    return ""


def _says_much(words: str) -> bool:
    return columns(_CLASS.sub("", words, 1)) >= _LEAST_QUOTE


def _ends_of_sentences(said: str) -> list[int]:
    ends = [end for end in _SENTENCE.finditer(said) if _is_closed(said[: end.start()])]
    return [*(end.start() + (said[end.start()] in "!?！？") for end in ends), len(said)]


def _ends_of_clauses(said: str) -> list[int]:
    ends = [end.start() for end in _CLAUSE.finditer(said)]
    return [end for end in ends if _is_closed(said[:end])]


def _is_closed(words: str) -> bool:
    """Whether no bracket is open: of `[512, 3]` nothing is left out."""
    return all(words.count(opening) <= words.count(end) for opening, end in ("()", "[]", "{}"))


def steps_with(
    signature: Signature, values: Mapping[str, str], message: str = ""
) -> tuple[Text, ...]:
    """The advice that can be given."""
    advice, instead = signature.advice, signature.instead
    for case in signature.cases:
        groups = _groups(case.pattern, message)
        if groups is not None:
            advice, instead, values = case.advice, case.instead, {**values, **groups}
            break
    called = _called(signature, values)
    steps: list[Text] = []
    is_given = False
    for place, step in enumerate(advice):
        if place in instead and is_given:
            continue
        words = fill_slots(step, called)
        is_given = words is not None
        if words is not None:
            steps.append(words)
    return tuple(steps)


def general_steps(signature: Signature) -> tuple[Text, ...]:
    """The advice on a page that tells of no log."""
    steps = enumerate(signature.advice)
    return tuple([general(step) for place, step in steps if place not in signature.instead])


def _groups(pattern: str, message: str) -> dict[str, str] | None:
    found = limited_compile(pattern).search(message[:2000])
    return {n: v for n, v in found.groupdict().items() if v is not None} if found else None


def _called(signature: Signature, values: Mapping[str, str]) -> dict[str, str]:
    """Values as people say them."""
    names = {(slot, value): name for slot, value, name in signature.names}
    said = {slot: names.get((slot, value), value) for slot, value in values.items()}
    return {slot: _size(slot, value) for slot, value in said.items() if slot != "message"}


def _size(slot: str, value: str) -> str:
    """`31.5 MB` for `31.502197MB`, `23.8 GiB` for `25600000000 bytes`."""
    told = _SIZE.fullmatch(value)
    if told:
        tenth = f".{told[2]}" if told[2] and told[2] != "0" else ""
        return f"{told[1]}{tenth} {told[3]}"
    counted = _BYTES.fullmatch(value) if slot == "bytes" else None
    if not counted:
        return value
    size, units = float(counted[1]), ["bytes", "KiB", "MiB", "GiB", "TiB"]
    while size >= 1024 and len(units) > 1:
        size, units = size / 1024, units[1:]
    return f"{size:.1f} {units[0]}"


def _title_in(said: str, values: Mapping[str, str], own: Mapping[str, str]) -> str:
    """A title with its values, or nothing where it does not fit; a message takes what is left."""
    before, message, after = said.partition("{message}")
    try:
        before, after = ("".join(_parts(part, values)) for part in (before, after))
    except KeyError:
        return ""
    room = FULL_COLUMNS - columns(before) - columns(after)
    quote = fit_message(own.get("message", ""), room) if message else ""
    return before + quote + after if room >= 0 and bool(quote) == bool(message) else ""


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
