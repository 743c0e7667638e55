"""Given what `make bench` wrote, when the readmes are rewritten, then they show just that."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from tests.running import script_named

ROOT = Path(__file__).parents[2]
RESULTS = """# Benchmarks

A processor, 2 cores; pdtriage 1.0; 2030-01-01, load 0.1 when it began

## Scan

### Jobs that died

| set | MB | pdtriage | peak MB | to rg, literals | to rg, patterns | not compiled, to literals |
|---|---:|---:|---:|---:|---:|---:|
| a | 1000 | 0.50 s | 90 | 2.2× | 4.4× | 1.9× |

### Quiet logs

| set | MB | pdtriage | peak MB | to rg, literals | to rg, patterns | not compiled, to literals |
|---|---:|---:|---:|---:|---:|---:|
| quiet-a | 1000 | 0.40 s | 80 | 3.2× | 5.4× | 2.9× |

| small folder (8 ranks, 1 MB) | ms | to typer's hello world |
|---|---:|---:|
| hello world with typer | 70 | 1.0× |
| pdtriage analyze -f json | 140 | 2.0× |
| pdtriage --version | 20 | 0.3× |

## Growth with bytes

| MB | pdtriage | peak MB | cat | rg, literals | to cat | to rg | exponent |
|---:|---:|---:|---:|---:|---:|---:|---:|
| 1000 | 0.50 s | 90 | 0.15 s | 0.30 s | 3.33× | 1.67× | - |
| 10000 | 5.00 s | 91 | 1.50 s | 3.00 s | 3.33× | 1.67× | 1.00 |

## Growth with files

| ranks | MB | pdtriage | ms a file | peak MB | cat | exponent |
|---:|---:|---:|---:|---:|---:|---:|
| 8 | 0.0 | 0.10 s | 12.50 | 27 | 0.01 s | - |

## Growth with ranks

| ranks | story | named by | jobs | verdict | report | JSON | all | peak MB | culprits | exponent |
|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
| 100,000 | one | rank | 2.00 s | 2.00 s | 2.00 s | 1.00 s | 7.00 s | 900 | right | 1.01 |
| 8,192 | two | host | 0.20 s | 0.20 s | 0.20 s | 0.10 s | 0.70 s | 90 | WRONG | - |

## Following

| files, 50,000 lines/s | p50 | p99 | of a core | `tail -F` p50 | p99 | of a core | lines/s |
|---:|---:|---:|---:|---:|---:|---:|---:|
| 8 | 55 ms | 110 ms | 3.0 % | 1 ms | 5 ms | 12.0 % | 50,000 |

## Blame

| 74 jobs with a known culprit | right | names a victim | names nobody |
|---|---:|---:|---:|
| launcher | 12 | 59 | 3 |
| pdtriage | 74 | 0 | 0 |
"""


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return script_named("readme_benchmarks")


def test_the_readmes_show_the_results(script: ModuleType) -> None:
    assert script.stale() == [], "run python scripts/readme_benchmarks.py"


@pytest.mark.parametrize("name", ["README.md", "README.zh.md"])
def test_both_have_room_for_them(script: ModuleType, name: str) -> None:
    assert "2030-01-01" in script.current(name, RESULTS)


def test_what_matters_is_told(script: ModuleType) -> None:
    rows = script.block(RESULTS, "en").splitlines()
    assert rows[0] == "## How fast it is"
    assert rows[4:-2] == [
        "| a dead job's log of 1000 MB | 0.50 s, 2.2× as fast as `rg -F` with the literals alone "
        "(1.9× not compiled), 4.4× as fast as `rg` with the patterns, 90 MB of memory |",
        "| one quiet log of 1000 MB | 0.40 s, 3.2× as fast as `rg -F` with the literals alone "
        "(2.9× not compiled), 5.4× as fast as `rg` with the patterns, 80 MB of memory |",
        "| `pdtriage analyze -f json`, against a hello world of typer | 140 ms, 2.0× |",
        "| `pdtriage --version`, against a hello world of typer | 20 ms, 0.3× |",
        "| growth to 10000 MB | 5.00 s, exponent 1.00, 91 MB of memory |",
        "| 100,000 ranks judged | 7.00 s, exponent 1.01; culprits right 1 of 2 |",
        "| following 8 logs, 50,000 lines/s | line to event 55 ms (p99 110 ms), 3.0 % of a core; "
        "`tail -F` 12.0 % |",
        "| right culprit in 74 recorded jobs | 74; launcher: 12 |",
    ]
    assert "A processor, 2 cores" in rows[-1]


def test_both_languages_have_the_same_rows(script: ModuleType) -> None:
    english, chinese = (script.block(RESULTS, language) for language in ("en", "zh"))
    assert english.count("\n") == chinese.count("\n")
    assert "崩溃的任务，单个 1000 MB 的日志" in chinese


def test_nothing_measured_is_nothing_shown(script: ModuleType) -> None:
    assert script.block("", "en") == ""


def test_a_table_with_other_columns_is_refused(script: ModuleType) -> None:
    with pytest.raises(KeyError, match="to rg, literals"):
        script.block(RESULTS.replace("to rg, literals", "speed"), "en")
