"""What holds for every verb: versions, help, unexpected errors, start-up."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import pdtriage as package
from pdtriage import __main__ as entry
from pdtriage.support.errors import DEBUG_VARIABLE
from pdtriage.support.text_width import columns
from tests.cli.conftest import Command

HEAVY = ("typer", "rich", "regex", "hyperscan", "backports.zstd", "watchdog")


def test_version(pdtriage: Command) -> None:
    assert pdtriage("--version").out == f"pdtriage {package.__version__}\n"


def test_version_imports_nothing_heavy() -> None:
    code = (
        "import sys; from pdtriage.__main__ import main; main(['--version']);"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def interrupted_at(module: str, before: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A start-up during which Ctrl-C comes when `module` is about to be imported."""
    code = (
        "import os, signal, sys\n"
        f"signal.signal(signal.SIGINT, {before})\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "import pdtriage\n"
        "sys.meta_path.insert(0, Finder())\n"
        "from pdtriage.__main__ import main\n"
        f"main({[*words]!r})\n"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("at", "verb"),
    [
        ("pdtriage.support", "--version"),
        ("pdtriage.support.errors", "--version"),
        ("pdtriage.commands.analyze", "analyze"),
        ("pdtriage.commands.doctor", "doctor"),
        ("pdtriage.commands.run", "run"),
        ("typer", "explain"),
    ],
)
def test_ctrl_c_during_imports_shows_no_traceback(at: str, verb: str) -> None:
    done = interrupted_at(at, "signal.default_int_handler", verb)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


@pytest.mark.parametrize("at", ["pdtriage.support.errors", "typer"])
def test_who_is_told_to_ignore_ctrl_c_does_so_from_the_first_moment(at: str) -> None:
    """As a shell tells what it starts in the background."""
    done = interrupted_at(at, "signal.SIG_IGN", "explain", "data.errno5")
    assert (done.returncode, done.stderr) == (0, "")


def test_ctrl_c_within_an_import_of_a_verb_at_work_is_not_lost(tmp_path: Path) -> None:
    """Python drops what is raised in the callbacks of its import system."""
    (tmp_path / "workerlog.0").write_text("step 1\n")
    code = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "kill = 'import os, signal; os.kill(os.getpid(), signal.SIGINT); sum(range(9))'\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'pdtriage.analysis.pipeline':\n"
        "            exec(compile(kill, '<frozen importlib._bootstrap>', 'exec'))\n"
        "import pdtriage\n"
        "sys.meta_path.insert(0, Finder())\n"
        "from pdtriage.__main__ import main\n"
        f"sys.argv = ['pdtriage', 'analyze', {str(tmp_path)!r}]\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def test_an_import_leaves_ctrl_c_as_it_was() -> None:
    assert entry.main
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_help_speaks_the_language_of_the_locale(pdtriage: Command) -> None:
    assert "Find the culprit of a failed job" in pdtriage("--help").out
    assert "从日志中找出" in pdtriage("--help", LC_ALL="zh_CN.UTF-8").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--help",), "用法：pdtriage [选项] 子命令 [参数]..."),
        (("watch", "--help"), "\n参数：\n  FOLDER  任务的日志目录"),
        (("bundle", "--help"), "[默认：8"),
        (("demo", "--help"), "显示本帮助。"),
        (("analyze", "--nope"), "错误：没有这个选项：--nope"),
        (("explain",), "用 'pdtriage explain -h' 查看帮助。\n\n错误：缺少参数 'ID'。"),
        (("nope",), "错误：没有这个子命令：'nope'。"),
        (("bundle", "--max-mb", "x"), "错误：'--max-mb' 的值无效：应为整数。"),
        (("analyze", "-f"), "错误：选项 '-f' 需要一个值。"),
        (("explain", "a", "b"), "错误：多余的参数：b"),
        (("analyze", "--color", "red"), "错误：'--color' 的值无效：'red' 不在可选值"),
        (("analyz",), "错误：没有这个子命令：'analyz'。 是不是 'analyze'？"),
        (("analyze", "--quie"), "没有这个选项：--quie （是不是 --quiet？）"),
        (("analyze", "--quiet=1"), "错误：选项 '--quiet' 不带值。"),
        (("bundle", "--max-mb", "0"), "错误：'--max-mb' 的值无效：不能小于 1。"),
        (("watch", "--until-idle", "x"), "错误：'--until-idle' 的值无效：应为数字。"),
        ((), "错误：缺少子命令。"),
        (("run", "--nope", "train.py"), "pdtriage run: 没有 --nope 这个参数。"),
        (("doctor", "--format", "x"), "pdtriage doctor: --format 不能是 'x'。"),
    ],
)
def test_what_typer_says_is_chinese_too(
    pdtriage: Command, words: tuple[str, ...], said: str
) -> None:
    by_locale = "--help" in words
    answer = pdtriage(*words, LC_ALL="zh_CN.UTF-8") if by_locale else pdtriage("--lang=zh", *words)
    assert said in answer.out + answer.err
    assert answer.code == (0 if "--help" in words else 2)
    assert "Usage" not in answer.out + answer.err


@pytest.mark.parametrize("width", [60, 80, 100])
@pytest.mark.parametrize("verb", ["analyze", "watch", "bundle", "collect k8s", "parsers new"])
def test_chinese_help_keeps_to_the_width(pdtriage: Command, verb: str, width: int) -> None:
    page = pdtriage(*verb.split(), "--help", LC_ALL="zh_CN.UTF-8", COLUMNS=str(width)).out
    assert max(map(columns, page.splitlines())) <= width


def test_chinese_help_loses_nothing_to_the_width(pdtriage: Command) -> None:
    page = pdtriage("analyze", "--help", LC_ALL="zh_CN.UTF-8", COLUMNS="60").out
    assert "sarif, html。" in " ".join(page.split())


def test_refusals_of_run_speak_the_language_that_is_named_before_the_script(
    pdtriage: Command,
) -> None:
    assert "没有 --nope 这个参数" in pdtriage("run", "--nope", "--lang", "zh", "train.py").err
    assert "There is no flag --nope" in pdtriage("run", "--nope", "train.py", "--lang", "zh").err


def test_english_refusals_stay_as_they_are(pdtriage: Command) -> None:
    answer = pdtriage("analyze", "--nope")
    assert answer.err.startswith("Usage: pdtriage analyze [OPTIONS] [PATH]...\nTry 'pdtriage ana")
    assert "\nError: No such option: --nope" in answer.err


def test_help_knows_no_names_of_types(pdtriage: Command) -> None:
    for verb in ("analyze", "watch", "explain", "bundle"):
        page = pdtriage(verb, "--help").out
        assert "str>" not in page
        assert "{" not in page.splitlines()[0]
    assert "x>=" not in pdtriage("bundle", "--help").out
    rows = pdtriage("analyze", "--help", COLUMNS="60").out.split("Arguments:\n")[1].splitlines()
    assert rows[0].index("Folders") == rows[1].index(rows[1].strip()), "one column of words"


def test_an_unexpected_error_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("pdtriage.commands.app.run_command", _fall_over)
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.delenv(DEBUG_VARIABLE, raising=False)
    with pytest.raises(SystemExit) as left:
        entry.main(["explain"])
    assert left.value.code == 4
    error = capsys.readouterr().err
    assert error == (
        "pdtriage: internal error: ZeroDivisionError: oh no (set PDTRIAGE_DEBUG=1 to see where)\n"
    )


def test_debugging_shows_where(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdtriage.commands.app.run_command", _fall_over)
    monkeypatch.setenv(DEBUG_VARIABLE, "1")
    with pytest.raises(ZeroDivisionError):
        entry.main(["explain"])


def test_a_closed_pipe_is_no_error(failed_job: Path) -> None:
    done = subprocess.run(
        [
            "bash",
            "-c",
            '"$0" -m pdtriage analyze "$1" -f json | head -c 10',
            sys.executable,
            failed_job,
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert len(done.stdout) == 10
    assert done.stderr == ""


def _fall_over(_: object) -> None:
    raise ZeroDivisionError("oh\nno")
