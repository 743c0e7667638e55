"""The manual page, made of the declaration of verbs and options: `python -m … FOLDER` writes it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from pdtriage.commands.verbs import ABOUT, HELP, LANG, VERBS, VERSION, Verb, choices_of, options_for
from pdtriage.support import exit_codes
from pdtriage.support.command_line import Option
from pdtriage.support.language import LANGUAGES, Language, Text

_NAMES: dict[Language, str] = {"en": "pdtriage.1", "zh": "pdtriage.zh_CN.1"}


def write_pages(folder: Path) -> None:
    for language in LANGUAGES:
        (folder / _NAMES[language]).write_text(man_page(language), encoding="utf-8")


def man_page(language: Language) -> str:
    """The manual page in the language of troff, which `man` reads."""
    return "\n".join(_lines(language)) + "\n"


def _lines(language: Language) -> Iterator[str]:
    yield ".TH PDTRIAGE 1"
    yield f".SH {Text('NAME', '名称').in_(language)}"
    yield f"pdtriage \\- {_plain(ABOUT.in_(language))}"
    yield f".SH {Text('SYNOPSIS', '用法').in_(language)}"
    for usage in Text("[OPTIONS] COMMAND …", "[选项] 命令 …").in_(language), "PATH …":
        yield f".B pdtriage\n{usage}\n.br"
    yield f".SH {Text('OPTIONS', '选项').in_(language)}"
    yield from _options([HELP, VERSION, LANG], language)
    for verb in VERBS:
        if verb.function is not None:
            yield from _verb(verb, language)
    yield f".SH {Text('EXIT STATUS', '退出码').in_(language)}"
    for command, code, meaning in exit_codes.TABLE:
        yield from _entry(f"{code} (pdtriage {command})", meaning.in_(language))


def _verb(verb: Verb, language: Language) -> Iterator[str]:
    yield f".SH PDTRIAGE {verb.words.upper()}"
    yield _plain(verb.about.in_(language))
    yield from _options(options_for(verb), language)


def _options(options: Sequence[Option], language: Language) -> Iterator[str]:
    for option in options:
        value = "" if option.kind is bool else option.metavar or "|".join(choices_of(option))
        value = value or ("" if option.kind is bool else "VALUE")
        names = ", ".join(option.names)
        yield from _entry(" ".join(filter(None, [names, value])), option.help.in_(language))


def _entry(head: str, meaning: str) -> Iterator[str]:
    yield from (".TP", f".B {_plain(head)}", _plain(" ".join(meaning.split())))


def _plain(words: str) -> str:
    """Text in which troff sees no request: dashes stay dashes, leading dots are escaped."""
    words = words.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{words}" if words.startswith((".", "'")) else words


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
