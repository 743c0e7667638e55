"""`pdtriage demo`: a real launch of a small job that fails, in a few seconds, without Paddle."""

from __future__ import annotations

import shlex
import sys
import tempfile
from pathlib import Path
from typing import Annotated

from pdtriage.commands.verbs import LanguageOption, answer_language
from pdtriage.support import exit_codes
from pdtriage.support.command_line import Option
from pdtriage.support.language import Language, Text

PROCESSES = 4

Keep = Annotated[
    Path | None,
    Option(
        ("--log-dir",),
        metavar="DIR",
        help=Text(
            "Where to leave the logs. Default: a new folder, which is named at the end.",
            "日志放在哪里。默认：新建一个文件夹，结束时会显示。",
        ),
    ),
]


def demo(log_dir: Keep = None, lang: LanguageOption = None) -> int:
    from pdtriage.commands.run import run
    from pdtriage.demo.train import FAILING_RANK
    from pdtriage.live.followed_log import LiveEngine

    language = answer_language(lang)
    script = str(Path(__file__).parents[1] / "demo" / "train.py")
    logs = log_dir or Path(tempfile.mkdtemp(prefix="pdtriage-demo-")) / "log"
    with tempfile.TemporaryDirectory(prefix="pdtriage-demo-") as scratch:
        intro = Text(
            f"{PROCESSES} ranks without Paddle or a GPU; the disk of rank {FAILING_RANK} is about "
            "to fail.",
            f"{PROCESSES} 个 rank，不需要 Paddle 和 GPU；rank {FAILING_RANK} 的磁盘即将出错。",
        )
        print(intro.in_(language), file=sys.stderr)
        print(f"$ pdtriage run --nproc_per_node {PROCESSES} train.py\n", file=sys.stderr)
        # The job lasts three seconds, and the first compilation of its parsers one.
        LiveEngine.load()
        run(
            [
                *("--nproc_per_node", str(PROCESSES), "--backend", "gloo", "--host", "127.0.0.1"),
                *("--log_dir", str(logs), "--log_level", "WARNING", "--lang", language),
                *(script, str(Path(scratch) / "data")),
            ]
        )
    _say_where(logs, language)
    return exit_codes.OK if _culprits(logs) == [FAILING_RANK] else exit_codes.FAILED


def _say_where(logs: Path, language: Language) -> None:
    """The report names log files; the person who reads it may want to open them."""
    again = shlex.join(["pdtriage", "analyze", str(logs)])
    closing = Text(f"The logs stay in {logs}\n$ {again}", f"日志保留在 {logs}\n$ {again}")
    print(f"\n{closing.in_(language)}", file=sys.stderr)


def _culprits(logs: Path) -> list[int]:
    """Whom the report blames that was stored with the logs."""
    import json

    from pdtriage.live.publish import NAME
    from pdtriage.record.schema import FOLDER

    try:
        report = json.loads((logs / FOLDER / NAME).read_text(encoding="utf-8"))
    except OSError:
        return []
    causes = report["root_causes"]
    return list(causes[0]["ranks"]) if causes else []
