"""The JSON report and its published schema say the same."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, get_args

import pytest
from jsonschema import Draft202012Validator

import pdtriage.model as model
from pdtriage.model import Report
from pdtriage.model.report_json import as_json, table_of_ranks, table_of_victims
from pdtriage.report import Options, reporter_named
from tests.report import reports

SCHEMA: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "docs" / "report.schema.json").read_text(encoding="utf-8")
)
SITUATIONS = {
    "failed": reports.failed(),
    "succeeded": reports.succeeded(),
    "chinese": reports.in_chinese(reports.failed()),
    **{verdict: reports.empty(verdict) for verdict in get_args(model.VerdictWord)},
}


def test_the_schema_itself_is_valid() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", SITUATIONS)
def test_reports_are_valid(name: str) -> None:
    Draft202012Validator(SCHEMA).validate(as_json(SITUATIONS[name]))


def test_the_schema_refuses_what_the_tool_never_says() -> None:
    wrong = as_json(reports.failed()._replace(verdict="perhaps"))  # type: ignore[arg-type]
    assert list(Draft202012Validator(SCHEMA).iter_errors(wrong))


def test_every_field_written_is_in_the_schema() -> None:
    """The schema lets unknown fields pass, so that old readers accept new reports."""
    _assert_known(as_json(reports.with_course(reports.failed())), SCHEMA)


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        ("verdict", get_args(model.VerdictWord)),
        ("role", get_args(model.Role)),
    ],
)
def test_words_of_the_model(definition: str, words: tuple[str, ...]) -> None:
    assert tuple(SCHEMA["$defs"][definition]["enum"]) == words


def test_differences_of_the_model() -> None:
    kinds = SCHEMA["$defs"]["difference"]["properties"]["kind"]["enum"]
    assert tuple(kinds) == get_args(model.DifferenceKind)


def test_categories_of_the_model() -> None:
    assert tuple(SCHEMA["$defs"]["cause"]["properties"]["category"]["enum"]) == model.CATEGORIES


def test_sentences_are_in_the_language_of_the_report() -> None:
    report = reports.failed()
    english = _first_cause(report)
    chinese = _first_cause(reports.in_chinese(report))
    assert english["title"] == report.root_causes[0].title.en
    assert chinese["title"] == report.root_causes[0].title.zh
    assert english["evidence"] == chinese["evidence"]


def test_written_text_is_the_report_and_cannot_steer_a_terminal() -> None:
    cause = reports.io_error()
    hostile = cause.evidence[0]._replace(text="\x9b31m\u202egnp.jpg \U000e0041 读取失败")
    report = reports.failed()._replace(root_causes=(cause._replace(evidence=(hostile,)),))
    stream = io.StringIO()
    reporter_named("json").write(report, stream, Options())
    written = stream.getvalue()
    assert json.loads(written) == as_json(report)
    assert "读取失败" in written
    assert not set("\x9b\u202e\U000e0041") & set(written)


def test_of_many_ranks_every_one_is_a_line() -> None:
    report = reports.large(600)
    like_a_row = report.ranks[300]._replace(files=('"}, {"rank": 7, "',), host='}, {"rank": ')
    report = report._replace(ranks=(*report.ranks[:300], like_a_row, *report.ranks[301:]))
    stream = io.StringIO()
    reporter_named("json").write(report, stream, Options())
    written = stream.getvalue()
    assert json.loads(written) == as_json(report)
    lines = [line for line in written.split("\n") if line.startswith('    {"rank": ')]
    assert len(lines) == len(report.victims) + 600


ODD = '"\\ \n\x1b[2J\x7f 磁盘 \u2028 \udc80 }, {"rank": '
ROWS = [
    model.RankRow(None, "unknown", None, None, None, (), "silent"),
    model.RankRow(0, "worker", ODD, 0, ODD, (ODD, "b"), "failed", -6, 9, 10**30, 1e21, 0.1, -0.0),
    model.RankRow(
        *(7, "server", "", 7, "", ("a",), "victim"),
        last_seen=float("inf"),
        progress=((1700000005.26649, 1), (1700000006.0004, 2), (0.5, 3), (float("nan"), 4)),
        moments=(
            model.Moment(None, 7, "start", model.Text(ODD, "启动")),
            model.Moment(1.5, 7, "exit", model.Text("ended", ODD), about=True),
        ),
    ),
]


def test_rows_are_written_as_any_encoder_would() -> None:
    victims = [
        model.Victim(None, "unknown", None, "peer", None),
        model.Victim(3, "worker", ODD, "stopped", 10**30),
    ]
    tables = (
        table_of_ranks(ROWS, "en"),
        table_of_ranks(ROWS, "zh"),
        table_of_victims(victims),
    )
    for table in tables:
        for line in table.lines():
            assert json.dumps(json.loads(line), ensure_ascii=False) == line
    alike = [ROWS[1]._replace(rank=rank, last_seen=rank + 0.5) for rank in range(700)]
    for rows in (alike, [*alike, ROWS[2]], [alike[0], alike[1]._replace(last_seen=float("nan"))]):
        written = list(table_of_ranks(rows, "en").lines())
        assert written == [line for row in rows for line in table_of_ranks([row], "en").lines()]
    first, odd, last = table_of_ranks(ROWS, "zh").values()
    assert list(first) == list(model.RankRow._fields)
    assert (odd["host"], odd["files"], odd["last_step"]) == (ODD, [ODD, "b"], 10**30)
    assert last["progress"][:3] == [[1700000005.266, 1], [1700000006.0, 2], [0.5, 3]]
    assert [moment["text"] for moment in last["moments"]] == ["启动", ODD]


def test_all_runs_are_an_array() -> None:
    stream = io.StringIO()
    both = [reports.failed(), reports.succeeded()]
    reporter_named("json").write_all(both, stream, Options())
    assert [run["verdict"] for run in json.loads(stream.getvalue())] == ["failed", "succeeded"]


def test_the_report_itself_offers_it() -> None:
    report = reports.failed()
    assert report.to_json() == as_json(report)


def _first_cause(report: Report) -> dict[str, Any]:
    causes: Any = as_json(report)["root_causes"]
    first: dict[str, Any] = causes[0]
    return first


def _assert_known(value: object, schema: dict[str, Any]) -> None:
    if "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    if "oneOf" in schema:
        schema = {"$ref": schema["oneOf"][1]["$ref"]}
        _assert_known(value, schema)
    elif isinstance(value, dict) and "properties" in schema:
        assert list(value) == list(schema["properties"])
        for name, part in value.items():
            _assert_known(part, schema["properties"][name])
    elif isinstance(value, list):
        assert value, "the factory must fill every list, or this test sees nothing"
        for part in value:
            _assert_known(part, schema["items"])
