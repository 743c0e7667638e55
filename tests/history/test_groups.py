"""What runs tell together: equal failures, who was to blame how often, what was new."""

from __future__ import annotations

from typing import Any

from pdtriage.history.entry import CauseEntry, RunEntry
from pdtriage.history.groups import changes_since, groups_of, ranking_of
from pdtriage.history.remember import seen_before
from pdtriage.support.language import Text

DAY = 86_400.0


def cause(fingerprint: str = "1:a", rank: int = 0, **changed: Any) -> CauseEntry:
    title = Text("It broke", "坏了")
    plain = CauseEntry(
        fingerprint, "x.y", "data.io", title, "worker", rank, 1, "h1", "gpu:0", "proven", "E"
    )
    return plain._replace(**changed)


def run(number: int, *causes: CauseEntry, **changed: Any) -> RunEntry:
    used = (("h1", "gpu:0"), ("h2", "gpu:0"))
    plain = RunEntry(
        f"k{number}",
        "/logs",
        number,
        "job",
        "collective",
        "paddle",
        2,
        "failed" if causes else "succeeded",
        number * DAY,
        number * DAY + 60,
        10 * number,
        causes,
        used,
        (),
    )
    return plain._replace(**changed)


def test_equal_fingerprints_are_one_group_the_most_frequent_first() -> None:
    runs = [run(1, cause("1:b")), run(2, cause()), run(3), run(4, cause(host="h2"))]
    often, once = groups_of(runs)
    assert (often.fingerprint, [one.run for one in often.runs]) == ("1:a", [2, 4])
    assert (often.first_seen, often.last_seen) == (2 * DAY + 60, 4 * DAY + 60)
    assert often.hosts == (("h1", 1), ("h2", 1))
    assert often.cards == (("h1 gpu:0", 1), ("h2 gpu:0", 1))
    assert often.steps == (20, 40)
    assert once.fingerprint == "1:b"


def test_what_was_new_is_told_against_the_last_good_run_of_the_same_job() -> None:
    elsewhere = run(2, place="/other", job="another", world_size=64)
    runs = [run(1, world_size=8), elsewhere, run(3, cause(), world_size=16)]
    (group,) = groups_of(runs)
    assert group.before == runs[0]
    assert changes_since(group.before, group.runs[0]) == [
        Text("world size: 8 → 16", "进程数：8 → 16")
    ]


def test_a_host_that_is_often_to_blame_stands_before_one_that_is_often_used() -> None:
    bad = [run(n, cause(host="h2")) for n in range(8)]
    busy = [run(n, used=(("h1", "gpu:0"),)) for n in range(10, 40)]
    unlucky = [run(50, cause(host="h3"), used=(("h3", "gpu:0"),))]
    ranking = ranking_of([*bad, *busy, run(60, cause(host="h1")), *unlucky])
    assert [(row.name, row.blamed, row.used) for row in ranking.hosts] == [
        ("h2", 8, 9),
        ("h3", 1, 1),
        ("h1", 1, 39),
    ]


def test_what_many_ranks_met_alike_speaks_against_no_card() -> None:
    ranking = ranking_of([run(1, cause(ranks=8)), run(2, cause())])
    assert [(row.name, row.blamed, row.used) for row in ranking.cards] == [("h1 gpu:0", 1, 2)]


def test_one_line_says_when_it_was_there_before_and_how_it_went_on() -> None:
    runs = [run(1, cause()), run(2), run(3, cause())]
    line = seen_before(runs[2], runs)
    assert line == Text(
        "The same failure was seen once before, first on 1970-01-02; last on 1970-01-02 on "
        "h1 gpu:0 in /logs. The next run of that job: SUCCEEDED.",
        "同样的失败此前出现过 1 次，首次在 1970-01-02；最近一次在 1970-01-02，h1 gpu:0，"
        "日志 /logs。该任务的下一次运行：成功。",
    )
    assert seen_before(runs[0], runs) is None, "what came later was not there before"
    assert seen_before(runs[1], runs) is None
