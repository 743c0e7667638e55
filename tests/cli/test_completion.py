"""Tab in real shells, with the words of the declaration in both languages; the manual page."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pdtriage.commands.completion import SCRIPTS, answer_shell, candidates
from pdtriage.commands.man_page import man_page
from pdtriage.commands.verbs import VERBS, options_for
from pdtriage.support.language import LANGUAGES
from tests.cli.conftest import Command
from tests.running import clean_environment

ROOT = Path(__file__).parents[2]
PROGRAM = Path(sys.executable).with_name("pdtriage")


def names(*before: str, current: str = "") -> list[str]:
    return [name for name, _ in candidates(before, current)]


def test_verbs_then_options_then_values() -> None:
    assert names(current="an") == ["analyze"]
    assert names("history") == ["list", "show", "top", "import"]
    assert names("analyze", current="--ex") == ["--exit-zero", "--explain-verdict"]
    assert names("analyze", "--lang") == ["en", "zh"]
    assert names("analyze", "--quiet") == [], "a folder follows"
    assert names("completion") == ["bash", "zsh", "fish"]
    assert names("--lang") == ["en", "zh"]
    assert "--hang_after" in names("run", current="--ha")
    assert "--run_check" in names("doctor", current="--")


def test_what_follows_a_script_is_the_scripts() -> None:
    assert "--log_dir" in names("run", "--nnodes", "2", current="--lo")
    assert names("run", "--nnodes", "2", "train.py", current="--lo") == []


def shell_environment(tmp_path: Path) -> dict[str, str]:
    environment = clean_environment()
    path = f"{PROGRAM.parent}:{environment['PATH']}"
    return environment | {
        "PATH": path,
        "PS1": "READY> ",
        "HOME": str(tmp_path),
        "TERM": "dumb",
        "XDG_CACHE_HOME": str(tmp_path),
    }


PREPARED = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], 'eval "$(pdtriage completion bash)"'),
    "zsh": (
        ["zsh", "-f", "-i"],
        'autoload -U compinit; compinit -u; eval "$(pdtriage completion zsh)"',
    ),
}


@pytest.mark.parametrize("shell", PREPARED)
def test_tab_in_a_real_shell(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell}: apt-get install {shell}")
    command, preparation = PREPARED[shell]
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=shell_environment(tmp_path),
        cwd=tmp_path,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        _read_until(ours, "READY> ")
        os.write(ours, preparation.encode() + b"; echo prepared-$((40+2))\n")
        _read_until(ours, "prepared-42[^>]*READY> ")
        os.write(ours, b"pdtriage comple\tfi\t\n")
        assert "complete -c pdtriage" in _read_until(ours, r"__pdtriage_complete\)'")
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def _read_until(terminal: int, pattern: str, seconds: float = 60.0) -> str:
    seen, deadline = "", time.monotonic() + seconds
    while not re.search(pattern, seen):
        ready, _, _ = select.select([terminal], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, seen
        seen += os.read(terminal, 4096).decode(errors="replace")
    return seen


def test_tab_in_a_real_fish(tmp_path: Path) -> None:
    if shutil.which("fish") is None:
        pytest.skip("no fish: apt-get install fish")
    for locale, meaning in (("C.UTF-8", "One failure with all its runs."), ("zh_CN.UTF-8", "查看")):
        ask = f"{SCRIPTS['fish']}\ncomplete -C 'pdtriage history s'"
        answer = subprocess.run(
            ["fish", "--no-config", "-c", ask],
            env=shell_environment(tmp_path) | {"LC_ALL": locale, "PYTHONUTF8": "1"},
            cwd=tmp_path,
            capture_output=True,
            check=True,
        ).stdout.decode()
        assert answer.startswith(f"show\t{meaning}")


def test_what_a_word_means_is_a_sentence_or_says_that_it_is_cut(
    capsys: pytest.CaptureFixture[str],
) -> None:
    answer_shell("fish", ["analyze", "-"])
    rows = [row.split("\t") for row in capsys.readouterr().out.splitlines()]
    assert len(rows) > 20
    assert ["--format", "Output format, with a file of its own after =."] in rows
    for _, meaning in rows:
        assert meaning.endswith((".", "...", ")")), meaning
        assert len(meaning) <= 70


def test_a_tab_imports_nothing_slow() -> None:
    code = (
        "import os, sys; os.environ['_PDTRIAGE_COMPLETE'] = 'bash'\n"
        "from pdtriage.__main__ import main\n"
        "for words in (['analyze', '--'], ['run', '--'], ['history', 'import', '--']):\n"
        "    os.environ['_PDTRIAGE_COMPLETE'] = 'bash'\n"
        "    main(words)\n"
        "print([name for name in ('typer', 'click', 'rich', 'pydantic') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *offered, slow = done.stdout.splitlines()
    assert {"--baseline", "--log_dir", "--engine"} <= set(offered)
    assert slow == "[]"


def test_a_path_means_analyze(pdtriage: Command, failed_job: Path, tmp_path: Path) -> None:
    assert pdtriage(failed_job, "-q") == pdtriage("analyze", failed_job, "-q")
    (tmp_path / "history").mkdir()
    assert "Usage: pdtriage history" in pdtriage("history", "--help").out, "a verb is a verb"
    assert "No such command 'nowhere'" in pdtriage("nowhere").err


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_manual_page_is_the_declaration(language: str) -> None:
    name = {"en": "pdtriage.1", "zh": "pdtriage.zh_CN.1"}[language]
    page = man_page("zh" if language == "zh" else "en")
    assert (ROOT / "docs" / "man" / name).read_text(encoding="utf-8") == page, "run `make docs`"
    flat = page.replace("\\-", "-")
    for verb in VERBS:
        for option in options_for(verb) if verb.function else ():
            assert all(re.search(rf"(?<!\S){re.escape(one)}\b", flat) for one in option.names)
