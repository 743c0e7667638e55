"""From the command line and the environment to `LaunchFlags`.

Parsing stops at the script; what follows belongs to the script. As in Paddle's launcher a set
environment variable overrides the flag, a unique beginning of a flag's name is enough, and
dashes and underscores mean the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from pdtriage.launch.options.flags import FLAGS, HELP_GROUPS, HELP_HEAD, LaunchFlags
from pdtriage.launch.options.secret import SECRET_FLAGS, may_mean, set_apart, without_secrets
from pdtriage.support.command_line import Option
from pdtriage.support.errors import UserError
from pdtriage.support.language import Language, Text

HELP_WIDTH = 80
_TRUTH = {
    **dict.fromkeys(("1", "true", "t", "yes", "y", "on"), True),
    **dict.fromkeys(("0", "false", "f", "no", "n", "off"), False),
}


def parse_flags(
    argv: Sequence[str],
    environ: Mapping[str, str],
    *,
    also: Sequence[Option] = (),
    script_needed: bool = True,
) -> LaunchFlags:
    """Read the words after `pdtriage run`; raises `UserError` on what cannot be understood.

    `also` are flags of another verb that takes those of `run`; they come back in `others`.
    """
    reading = _Reading(argv, (*FLAGS, *also))
    script, *script_args = reading.read_words() or [""]
    reading.read_variables(environ)
    values = reading.values
    for flag in (*FLAGS, *also):
        if flag.choices and values.get(flag.name, flag.default) not in (*flag.choices, None):
            listed = ", ".join(flag.choices)
            hint = Text(f"It is one of {listed}.", f"可选值：{listed}。")
            raise _wrong_value(f"--{flag.name}", values[flag.name], hint)
    if script_needed and not script and not reading.help:
        raise UserError(
            Text("No training script was given.", "没有给出训练脚本。"),
            Text(
                "Write `pdtriage run [flags] train.py [its arguments]`.",
                "请写成 `pdtriage run [参数] train.py [脚本参数]`。",
            ),
        )
    others = {flag.name: values.pop(flag.name) for flag in also if flag.name in values}
    return LaunchFlags(
        **set_apart(values),
        training_script=script,
        training_script_args=tuple(script_args),
        help=reading.help,
        argv=without_secrets(argv, len(script_args) + 1),
        passthrough=tuple(reading.passthrough),
        given=frozenset(values),
        device_flag=reading.device_flag,
        notes=tuple(reading.notes),
        others=others,
    )


class _Reading:
    """What was read so far."""

    def __init__(self, argv: Sequence[str], flags: Sequence[Option]) -> None:
        self.left = list(reversed(argv))
        self.table = {name[2:]: flag for flag in flags for name in flag.names}
        # It must be known before an unknown flag is judged.
        self.is_for_paddle = _is_for_paddle(argv)
        self.values: dict[str, Any] = {}
        self.help = False
        self.passthrough: list[str] = []
        self.device_flag = "devices"
        self.notes: list[Text] = []

    def read_words(self) -> list[str]:
        """The flags up to the script, then the script and what follows it."""
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
            value = self.values[flag.name] = _convert(flag, variable, text)
            if flag.name not in SECRET_FLAGS and typed.get(flag.name) != value:
                how = Text("overrides", "覆盖了") if flag.name in typed else Text("sets", "设定了")
                en = f"environment variable {variable}={text} {how.en} --{flag.name}"
                self.notes.append(Text(en, f"环境变量 {variable}={text} {how.zh} --{flag.name}"))
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
        self.values[flag.name] = _convert(flag, spelled, value)

    def _is_value_next(self, flag: Option | None, spelled: str) -> bool:
        following = self.left[-1] if self.left else "-"
        if flag is None:  # only Paddle knows it: a value, or already the script?
            return not (following.startswith("-") or following.endswith(".py"))
        if flag.kind is bool:
            return following.lower() in _TRUTH
        is_number = flag.kind in (int, float) and following[1:].replace(".", "", 1).isdigit()
        if is_number or not following.startswith("-"):
            return True
        raise UserError(
            Text(f"{spelled} needs a value.", f"{spelled} 需要一个值。"),
            Text(f"Write {spelled}=VALUE.", f"请写成 {spelled}=值。"),
        )

    def _find(self, spelled: str) -> tuple[Option | None, str]:
        """The flag and its name in full; no flag where Paddle's launcher may know it."""
        name = spelled[2:].replace("-", "_") if spelled.startswith("--") else ""
        name = "report" if spelled == "-f" else name
        begin = sorted(known for known in self.table if may_mean(name, known))
        if name in self.table or len({self.table[known].name for known in begin}) == 1:
            return self.table[begin[0]], begin[0]  # a whole name comes before longer ones
        if self.is_for_paddle:
            return None, name
        if begin:
            listed = ", ".join(f"--{known}" for known in begin)
            raise UserError(
                Text(f"{spelled} may mean {listed}.", f"{spelled} 有歧义，可能是 {listed}。"),
                Text("Write the name in full.", "请写出完整名称。"),
            )
        from difflib import get_close_matches

        hint = Text(
            "`pdtriage run --help` lists the flags; arguments of the script go after it.",
            "`pdtriage run --help` 列出全部参数；脚本自己的参数请写在脚本之后。",
        )
        for near in get_close_matches(name, self.table, n=1):
            hint = Text(f"Did you mean --{near}?", f"是否想写 --{near}？")
        raise UserError(Text(f"There is no flag {spelled}.", f"没有 {spelled} 这个参数。"), hint)


def _is_for_paddle(argv: Sequence[str]) -> bool:
    """Whether Paddle's launcher is asked for, before anything is parsed."""
    words = list(takewhile(lambda word: word.startswith("-") or not word.endswith(".py"), argv))
    launcher = words.index("--launcher") if "--launcher" in words else len(words)
    return "--launcher=paddle" in words[:launcher] or words[launcher + 1 :][:1] == ["paddle"]


def _convert(flag: Option, spelled: str, text: str) -> Any:
    text = text.strip()
    wanted = Text("a number", "数字")
    try:
        if flag.kind is bool:
            wanted = Text("true/false", "true 或 false")
            return _TRUTH[text.lower()]
        value = flag.kind(text)
        if flag.kind is not float or 0 <= value < 1e6:
            return value
        wanted = Text("a number of seconds", "秒数")
    except (ValueError, KeyError):
        pass
    raise _wrong_value(spelled, text, Text(f"It takes {wanted.en}.", f"它的值应为{wanted.zh}。"))


def _wrong_value(spelled: str, value: object, hint: Text) -> UserError:
    return UserError(Text(f"{spelled} cannot be {value!r}.", f"{spelled} 不能是 {value!r}。"), hint)


def help_text(language: Language) -> str:
    """The help page of `pdtriage run`."""
    from pdtriage.support.text_width import wrap  # a launch has no use for it

    lines = [HELP_HEAD.in_(language)]
    for group, title in HELP_GROUPS.items():
        lines.append(f"\n{title.in_(language)}{Text(':', '：').in_(language)}")
        for flag in FLAGS:
            if flag.group != group:
                continue
            variables = f" [{', '.join(flag.variables)}]" if flag.variables else ""
            lines += [f"  {line}" for line in wrap(", ".join(flag.names), HELP_WIDTH - 2)]
            meaning = f"{flag.help.in_(language)}{variables}"
            lines += [f"      {line}" for line in wrap(meaning, HELP_WIDTH - 6)]
    return "\n".join(lines) + "\n"
