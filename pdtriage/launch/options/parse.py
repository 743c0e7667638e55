"""From the command line and the environment to `LaunchFlags`.

Parsing stops at the script; what follows belongs to the script. As in Paddle's launcher a set
environment variable overrides the flag, a unique beginning of a flag's name is enough, and
dashes and underscores mean the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from pdtriage.launch.options.flags import FLAGS, Flag, LaunchFlags
from pdtriage.support.errors import UserError
from pdtriage.support.language import Text

_TRUTH = {
    **dict.fromkeys(("1", "true", "t", "yes", "y", "on"), True),
    **dict.fromkeys(("0", "false", "f", "no", "n", "off"), False),
}


def parse_flags(
    argv: Sequence[str],
    environ: Mapping[str, str],
    *,
    also: Sequence[Flag] = (),
    script_needed: bool = True,
) -> LaunchFlags:
    """Read the words after `pdtriage run`; raises `UserError` on what cannot be understood.

    `also` are flags of another verb that takes those of `run`; they come back in `others`.
    """
    reading = _Reading(argv, also)
    script, *script_args = reading.read_words() or [""]
    reading.read_variables(environ)
    values = reading.values
    for flag in (*FLAGS, *also):
        if flag.choices and values.get(flag.name, flag.default) not in (*flag.choices, None):
            listed = ", ".join(flag.choices)
            raise _refusal(
                (f"--{flag.name} cannot be {values[flag.name]!r}.", f"It is one of {listed}."),
                (f"--{flag.name} 不能是 {values[flag.name]!r}。", f"可选值：{listed}。"),
            )
    if script_needed and not script and not reading.help:
        raise _refusal(
            (
                "No training script was given.",
                "Write `pdtriage run [flags] train.py [its arguments]`.",
            ),
            ("没有给出训练脚本。", "请写成 `pdtriage run [参数] train.py [脚本参数]`。"),
        )
    own = [flag.name for flag in also if flag.name in values]
    others = {name: values.pop(name) for name in own}
    return LaunchFlags(
        **values,
        training_script=script,
        training_script_args=tuple(script_args),
        help=reading.help,
        argv=tuple(argv),
        passthrough=tuple(reading.passthrough),
        given=frozenset(values),
        device_flag=reading.device_flag,
        notes=tuple(reading.notes),
        others=others,
    )


class _Reading:
    """What was read so far."""

    def __init__(self, argv: Sequence[str], also: Sequence[Flag]) -> None:
        self.left = list(reversed(argv))
        self.table = {name: flag for flag in (*FLAGS, *also) for name in (flag.name, *flag.aliases)}
        # It must be known before an unknown flag is judged.
        self.is_for_paddle = _is_for_paddle(argv)
        self.values: dict[str, Any] = {}
        self.help = False
        self.passthrough: list[str] = []
        self.device_flag = "devices"
        self.notes: list[Text] = []

    def read_words(self) -> list[str]:
        """Up to the script; the script and what follows it."""
        while self.left and self.left[-1].startswith("-") and self.left[-1] not in ("-", "--"):
            word = self.left.pop()
            if word in ("-h", "--help"):
                self.help = True
            else:
                self._read_flag(word)
        if self.left[-1:] == ["--"]:
            self.left.pop()
        script = self.left[::-1]
        self.passthrough += script
        return script

    def read_variables(self, environ: Mapping[str, str]) -> None:
        typed = dict(self.values)
        for flag in FLAGS:
            variables = flag.variables
            if flag.name == "start_port" and flag.name not in typed:
                variables += ("FLAGS_START_PORT",)
            variable = next((name for name in variables if environ.get(name)), None)
            if variable is None:
                continue
            text = environ[variable]
            value = self.values[flag.name] = _converted(flag, variable, text)
            if flag.name not in typed or typed[flag.name] != value:
                how = ("overrides", "覆盖了") if flag.name in typed else ("sets", "设定了")
                self.notes.append(
                    Text(
                        f"environment variable {variable}={text} {how[0]} --{flag.name}",
                        f"环境变量 {variable}={text} {how[1]} --{flag.name}",
                    )
                )
        backend = environ.get("PADDLE_DISTRI_BACKEND", "")
        if backend in self.table["backend"].choices:
            self.values.setdefault("backend", backend)

    def _read_flag(self, word: str) -> None:
        spelled, equals, value = word.partition("=")
        flag, name = self._find(spelled)
        words = [word]
        if not equals:
            value = "true"
            if self._is_value_next(flag, spelled):
                value = self.left.pop()
                words.append(value)
        if flag is None or flag.group != "own":
            self.passthrough += words
        if flag is None:
            return
        if flag.name == "report" and "report" in self.values:
            value = f"{self.values['report']},{value}"  # one after another, as with analyze -f
        if flag.name == "devices":
            self.device_flag = name.removeprefix("selected_")
        self.values[flag.name] = _converted(flag, spelled, value)

    def _is_value_next(self, flag: Flag | None, spelled: str) -> bool:
        following = self.left[-1] if self.left else "-"
        if flag is None:  # only Paddle knows it: a value, or already the script?
            return not (following.startswith("-") or following.endswith(".py"))
        if flag.kind == "bool":
            return following.lower() in _TRUTH
        is_number = flag.kind in ("int", "float") and following[1:].replace(".", "", 1).isdigit()
        if is_number or not following.startswith("-"):
            return True
        raise _refusal(
            (f"{spelled} needs a value.", f"Write {spelled}=VALUE."),
            (f"{spelled} 需要一个值。", f"请写成 {spelled}=值。"),
        )

    def _find(self, spelled: str) -> tuple[Flag | None, str]:
        """The flag and its name in full; no flag where Paddle's launcher may know it."""
        name = spelled[2:].replace("-", "_") if spelled.startswith("--") else ""
        name = "report" if spelled == "-f" else name
        if name in self.table:
            return self.table[name], name
        begin = sorted(known for known in self.table if name and known.startswith(name))
        if len({self.table[known].name for known in begin}) == 1:
            return self.table[begin[0]], begin[0]
        if self.is_for_paddle:
            return None, name
        if begin:
            listed = ", ".join(f"--{known}" for known in begin)
            raise _refusal(
                (f"{spelled} may mean {listed}.", "Write the name in full."),
                (f"{spelled} 有歧义，可能是 {listed}。", "请写出完整名称。"),
            )
        from difflib import get_close_matches

        near = get_close_matches(name, self.table, n=1)
        hint = Text(
            "`pdtriage run --help` lists the flags; arguments of the script go after it.",
            "`pdtriage run --help` 列出全部参数；脚本自己的参数请写在脚本之后。",
        )
        if near:
            hint = Text(f"Did you mean --{near[0]}?", f"是否想写 --{near[0]}？")
        raise _refusal(
            (f"There is no flag {spelled}.", hint.en), (f"没有 {spelled} 这个参数。", hint.zh)
        )


def _is_for_paddle(argv: Sequence[str]) -> bool:
    """Whether Paddle's launcher is asked for, before anything is parsed."""
    words = list(takewhile(lambda word: word.startswith("-") or not word.endswith(".py"), argv))
    launcher = words.index("--launcher") if "--launcher" in words else len(words)
    return "--launcher=paddle" in words[:launcher] or words[launcher + 1 :][:1] == ["paddle"]


def _converted(flag: Flag, spelled: str, text: str) -> str | int | float | bool:
    text = text.strip()
    wanted = Text("a number", "数字")
    try:
        if flag.kind == "str":
            return text
        if flag.kind == "int":
            return int(text)
        if flag.kind == "float":
            number = float(text)
            if 0 <= number < 1e6:
                return number
            wanted = Text("a number of seconds", "秒数")
        elif text.lower() in _TRUTH:
            return _TRUTH[text.lower()]
        else:
            wanted = Text("true/false", "true 或 false")
    except ValueError:
        pass
    raise _refusal(
        (f"{spelled} cannot be {text!r}.", f"It takes {wanted.en}."),
        (f"{spelled} 不能是 {text!r}。", f"它的值应为{wanted.zh}。"),
    )


def _refusal(en: tuple[str, str], zh: tuple[str, str]) -> UserError:
    """What is wrong, and what to write instead, in both languages."""
    return UserError(Text(en[0], zh[0]), Text(en[1], zh[1]))
