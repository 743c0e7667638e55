"""`pdtriage completion`: what a shell asks when somebody presses Tab.

A shell runs `pdtriage` with `_PDTRIAGE_COMPLETE` and the words typed so far. The answer comes from
the same declaration typer reads, without typer, whose import takes longer than people wait for it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Annotated

from pdtriage.commands.verbs import (
    HELP,
    LANG,
    LANGUAGE,
    VERSION,
    choices_of,
    options_for,
    verb_of,
    verbs_below,
)
from pdtriage.support.command_line import Option
from pdtriage.support.language import Text
from pdtriage.support.text_width import cut

LONGEST = 70
_SENTENCE = re.compile(r"(?<=\.) (?=[A-Z`])|(?<=。)")
SCRIPTS = {
    "bash": """\
_pdtriage() {
    local IFS=$'\\n'
    COMPREPLY=( $(_PDTRIAGE_COMPLETE=bash pdtriage "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null) )
}
complete -o bashdefault -o default -F _pdtriage pdtriage
""",
    "zsh": """\
#compdef pdtriage
_pdtriage() {
    local -a answers
    answers=("${(@f)$(_PDTRIAGE_COMPLETE=zsh pdtriage "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    [[ -n $answers[1] ]] && _describe -V pdtriage answers
    [[ $words[CURRENT] == -* ]] || _files
}
if [[ $funcstack[1] == _pdtriage ]]; then _pdtriage "$@"; else compdef _pdtriage pdtriage; fi
""",
    "fish": """\
function __pdtriage_complete
    set -lx _PDTRIAGE_COMPLETE fish
    pdtriage (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null
end
complete -c pdtriage -a '(__pdtriage_complete)'
""",
}


class Shell(str, Enum):
    bash = "bash"
    zsh = "zsh"
    fish = "fish"


ShellArgument = Annotated[
    Shell, Option((), metavar="SHELL", help=Text("bash, zsh or fish.", "bash、zsh 或 fish。"))
]


def completion(shell: ShellArgument) -> None:
    sys.stdout.write(SCRIPTS[shell.value])


def answer_shell(shell: str, words: Sequence[str]) -> None:
    """Print what may stand at the last of `words`, which may be empty, a line each."""
    before, current = list(words[:-1]), "".join(words[-1:])
    for name, meaning in candidates(before, current):
        print(_line(shell, name, meaning.in_(LANGUAGE)))


def _line(shell: str, name: str, meaning: str) -> str:
    if shell == "zsh":
        return f"{name.replace(':', chr(92) + ':')}:{_short(meaning)}"
    return f"{name}\t{_short(meaning)}" if shell == "fish" else name


def _short(meaning: str) -> str:
    """What it means in one row: its first sentence, and of a long one the first words."""
    said = _SENTENCE.split(" ".join(meaning.split()), maxsplit=1)[0]
    return cut(said, LONGEST)


def candidates(before: Sequence[str], current: str) -> Iterator[tuple[str, Text]]:
    """Verbs, options and their values; nothing where a shell had better offer files."""
    verb, many = verb_of(before)
    options = [HELP, VERSION, LANG] if verb is None else options_for(verb)
    if verb is not None and verb.own_flags and _has_script(before[many:], options):
        return  # what follows is the script's
    offered: list[tuple[str, Text]] = []
    chosen = _option_named("".join(before[-1:]), options)
    if chosen is not None and chosen.kind is not bool:
        offered = [(value, chosen.help) for value in choices_of(chosen)]
    elif current.startswith("-"):
        offered = [(name, one.help) for one in options for name in one.names]
    elif verb is None or verb.function is None:
        here = "" if verb is None else verb.words
        offered = [(each.words.split()[-1], each.about) for each in verbs_below(here)]
        if verb is None and before:
            offered = []  # an option of its own, or a folder to analyse
    else:
        arguments = [option for option in options if not option.names]
        offered = [(value, one.help) for one in arguments for value in choices_of(one)]
    yield from (one for one in offered if one[0].startswith(current))


def _option_named(word: str, options: Sequence[Option]) -> Option | None:
    return next((option for option in options if word in option.names), None)


def _has_script(words: Sequence[str], options: Sequence[Option]) -> bool:
    """Whether a word stands there that is neither a flag nor the value of one."""
    is_value = False
    for word in words:
        if not is_value and not word.startswith("-"):
            return True
        option = _option_named(word, options)
        is_value = option is not None and option.kind is not bool
    return False
