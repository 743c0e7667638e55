"""From the command line and the environment to `LaunchFlags`.

Parsing stops at the script; what follows belongs to the script. As in Paddle's launcher a set
environment variable overrides the flag, a unique beginning of a flag's name is enough, and
dashes and underscores mean the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pdtriage.launch.options.flags import FLAGS, Flag, LaunchFlags
from pdtriage.support.errors import UserError
from pdtriage.support.language import Text


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
    reading = _Reading(tuple(argv), also, script_needed)
    reading.words()
    reading.variables(environ)
    return reading.flags()


class _Reading:
    def __init__(self, argv: tuple[str, ...], also: Sequence[Flag], script_needed: bool) -> None:
        self.argv = argv
        self.also = also
        self.script_needed = script_needed
        self.values: dict[str, Any] = {}
        self.typed: set[str] = set()
        self.passthrough: list[str] = []
        self.device_flag = "devices"
        self.notes: list[Text] = []
        self.table = {name: flag for flag in (*FLAGS, *also) for name in (flag.name, *flag.aliases)}
        # The last --launcher decides, and it must be known before an unknown flag is judged.
        self.lenient = _asks_for_paddle(argv)

    def words(self) -> None:
        position = 0
        while position < len(self.argv):
            word = self.argv[position]
            if word == "--":
                position += 1
                break
            if not word.startswith("-") or word == "-":
                break
            if word in ("-h", "--help"):
                self.values["help"] = True
                position += 1
                continue
            position += self._one_flag(position)
        rest = self.argv[position:]
        self.passthrough += rest
        if rest:
            self.values["training_script"] = rest[0]
            self.values["training_script_args"] = tuple(rest[1:])

    def variables(self, environ: Mapping[str, str]) -> None:
        for flag in FLAGS:
            for variable in flag.variables:
                text = environ.get(variable, "")
                if text:
                    self._override(flag, variable, text)
                    break
        if "start_port" not in self.values and (text := environ.get("FLAGS_START_PORT", "")):
            self._override(self.table["start_port"], "FLAGS_START_PORT", text)
        if (
            self.values.get("backend") is None
            and (backend := environ.get("PADDLE_DISTRI_BACKEND", ""))
            in self.table["backend"].choices
        ):
            self.values["backend"] = backend

    def flags(self) -> LaunchFlags:
        for flag in (*FLAGS, *self.also):
            value = self.values.get(flag.name)
            if flag.choices and value is not None and value not in flag.choices:
                raise _not_one_of(flag.name, value, flag.choices)
        own = [flag.name for flag in self.also if flag.name in self.values]
        others = {name: self.values.pop(name) for name in own}
        missing = self.script_needed and not self.values.get("training_script")
        if missing and not self.values.get("help"):
            raise UserError(
                Text("No training script was given.", "没有给出训练脚本。"),
                Text(
                    "Write `pdtriage run [flags] train.py [its arguments]`.",
                    "请写成 `pdtriage run [参数] train.py [脚本参数]`。",
                ),
            )
        return LaunchFlags(
            **self.values,
            argv=self.argv,
            passthrough=tuple(self.passthrough),
            given=frozenset(self.values) - {"training_script", "training_script_args", "help"},
            device_flag=self.device_flag,
            notes=tuple(self.notes),
            others=others,
        )

    def _one_flag(self, position: int) -> int:
        """Take the flag at `position`; how many words it used."""
        word = self.argv[position]
        spelled, equals, value = word.partition("=")
        flag, canonical = self._find(spelled)
        following = self.argv[position + 1] if position + 1 < len(self.argv) else None
        if flag is None:
            used = 1 if equals or not _is_value_of_unknown(following) else 2
            self.passthrough += self.argv[position : position + used]
            return used
        used = 1
        if not equals:
            if flag.kind == "bool" and (following is None or _truth(following) is None):
                value = "true"
            elif following is None or _looks_like_flag(following, flag):
                raise UserError(
                    Text(f"{spelled} needs a value.", f"{spelled} 需要一个值。"),
                    Text(f"Write {spelled}=VALUE.", f"请写成 {spelled}=值。"),
                )
            else:
                value = following
                used = 2
        if flag.name == "report" and "report" in self.values:
            value = f"{self.values['report']},{value}"  # one after another, as with analyze -f
        self.values[flag.name] = _convert(flag, spelled, value)
        self.typed.add(flag.name)
        if flag.name == "devices":
            self.device_flag = canonical.removeprefix("selected_")
        if flag.group != "own":
            self.passthrough += self.argv[position : position + used]
        return used

    def _find(self, spelled: str) -> tuple[Flag | None, str]:
        name = spelled[2:].replace("-", "_") if spelled.startswith("--") else ""
        name = "report" if spelled == "-f" else name
        if name in self.table:
            return self.table[name], name
        begun = sorted(known for known in self.table if name and known.startswith(name))
        if len({self.table[known].name for known in begun}) == 1:
            return self.table[begun[0]], begun[0]
        if self.lenient:
            return None, name
        if begun:
            listed = ", ".join(f"--{known}" for known in begun)
            raise UserError(
                Text(f"{spelled} may mean {listed}.", f"{spelled} 有歧义，可能是 {listed}。"),
                Text("Write the name in full.", "请写出完整名称。"),
            )
        raise _unknown(spelled, name, self.table)

    def _override(self, flag: Flag, variable: str, text: str) -> None:
        value = _convert(flag, variable, text)
        typed = flag.name in self.typed
        if typed and self.values[flag.name] == value:
            return
        self.values[flag.name] = value
        how = ("overrides", "覆盖了") if typed else ("sets", "设定了")
        self.notes.append(
            Text(
                f"environment variable {variable}={text} {how[0]} --{flag.name}",
                f"环境变量 {variable}={text} {how[1]} --{flag.name}",
            )
        )


def _asks_for_paddle(argv: Sequence[str]) -> bool:
    for position, word in enumerate(argv):
        if word == "--launcher=paddle":
            return True
        if word == "--launcher":
            return list(argv[position + 1 : position + 2]) == ["paddle"]
        if not word.startswith("-") and word.endswith(".py"):
            break
    return False


def _convert(flag: Flag, spelled: str, text: str) -> str | int | float | bool:
    text = text.strip()
    if flag.kind == "str":
        return text
    if flag.kind == "bool":
        truth = _truth(text)
        if truth is None:
            raise _bad_value(spelled, text, "true/false", "true 或 false")
        return truth
    try:
        if flag.kind == "int":
            return int(text)
        number = float(text)
    except ValueError:
        raise _bad_value(spelled, text, "a number", "数字") from None
    if not 0 <= number < 1e6:
        raise _bad_value(spelled, text, "a number of seconds", "秒数")
    return number


def _truth(text: str) -> bool | None:
    lowered = text.lower()
    if lowered in ("1", "true", "t", "yes", "y", "on"):
        return True
    if lowered in ("0", "false", "f", "no", "n", "off"):
        return False
    return None


def _looks_like_flag(word: str, flag: Flag) -> bool:
    if not word.startswith("-"):
        return False
    return not (flag.kind in ("int", "float") and word[1:].replace(".", "", 1).isdigit())


def _is_value_of_unknown(word: str | None) -> bool:
    """Whether a word after a flag only Paddle knows is that flag's value or already the script."""
    return word is not None and not word.startswith("-") and not word.endswith(".py")


def _bad_value(spelled: str, text: str, en: str, zh: str) -> UserError:
    return UserError(
        Text(f"{spelled} cannot be {text!r}.", f"{spelled} 不能是 {text!r}。"),
        Text(f"It takes {en}.", f"它的值应为{zh}。"),
    )


def _not_one_of(name: str, value: str, allowed: tuple[str, ...]) -> UserError:
    listed = ", ".join(allowed)
    return UserError(
        Text(f"--{name} cannot be {value!r}.", f"--{name} 不能是 {value!r}。"),
        Text(f"It is one of {listed}.", f"可选值：{listed}。"),
    )


def _unknown(spelled: str, name: str, table: Mapping[str, Flag]) -> UserError:
    from difflib import get_close_matches

    near = get_close_matches(name, table, n=1)
    hint = (
        Text(f"Did you mean --{near[0]}?", f"是否想写 --{near[0]}？")
        if near
        else Text(
            "`pdtriage run --help` lists the flags; arguments of the script go after it.",
            "`pdtriage run --help` 列出全部参数；脚本自己的参数请写在脚本之后。",
        )
    )
    return UserError(Text(f"There is no flag {spelled}.", f"没有 {spelled} 这个参数。"), hint)
