"""The help of `pdtriage run`, made from the table of flags."""

from __future__ import annotations

from pdtriage.launch.options.flag_table import FLAGS
from pdtriage.support.language import Language, Text
from pdtriage.support.text_width import wrapped

WIDTH = 80

_HEAD = Text(
    "usage: pdtriage run [flags] train.py [its arguments]\n\n"
    "Starts a Paddle job like `python -m paddle.distributed.launch` and `fleetrun`,\n"
    "whose flags it takes with dashes or underscores, and says which rank failed\n"
    "first, and why.",
    "用法：pdtriage run [参数] train.py [脚本参数]\n\n"
    "与 `python -m paddle.distributed.launch` 和 `fleetrun` 一样启动 Paddle 作业，\n"
    "参数相同（横线与下划线均可），并指出哪个 rank 最先失败以及原因。",
)
_GROUPS: dict[str, Text] = {
    "own": Text("Flags of pdtriage", "pdtriage 的参数"),
    "common": Text("Flags of both generations of Paddle's launcher", "新旧启动器共有的参数"),
    "new": Text("Flags of the new launcher", "新版启动器的参数"),
    "legacy": Text("Flags of the legacy launcher", "旧版启动器的参数"),
    "ps": Text("Parameter server", "参数服务器"),
    "elastic": Text("Elastic", "弹性训练"),
    "tuner": Text("Tuning (needs --launcher paddle)", "自动调优（需要 --launcher paddle）"),
}


def help_text(language: Language) -> str:
    lines = [_HEAD.in_(language)]
    for group, title in _GROUPS.items():
        lines.append(f"\n{title.in_(language)}{Text(':', '：').in_(language)}")
        for flag in FLAGS:
            if flag.group != group:
                continue
            names = ", ".join(f"--{name}" for name in (flag.name, *flag.aliases))
            variables = f" [{', '.join(flag.variables)}]" if flag.variables else ""
            lines += [f"  {line}" for line in wrapped(names, WIDTH - 2)]
            told = f"{flag.help.in_(language)}{variables}"
            lines += [f"      {line}" for line in wrapped(told, WIDTH - 6)]
    return "\n".join(lines) + "\n"
