"""A history as one page that needs nothing but itself, with plots drawn as SVG."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pdtriage.history.entry import RunEntry
from pdtriage.history.groups import FailureGroup, Ranking, Wear, changes_since
from pdtriage.history.phrases import (
    counts_text,
    day_of,
    days_text,
    steps_words,
    times_text,
    verdict_word,
)
from pdtriage.report.formats.html.build import Html, hash_of, join_html, tag
from pdtriage.support.language import Language, Text

MOST_GROUPS, MOST_RUNS, MOST_ROWS, MOST_DAYS = 200, 50, 40, 120
_STYLE = """
:root{color-scheme:light dark;--paper:#fbfaf8;--card:#fff;--ink:#1d1f23;--soft:#5d636e;
--line:#e2e0db;--red:#c62f2f;--grey:#c3c7cf}
@media (prefers-color-scheme:dark){:root{--paper:#16181c;--card:#1e2127;--ink:#e7e9ed;
--soft:#a0a7b4;--line:#343943;--red:#ff7a70;--grey:#4b515d}}
body{font:15px/1.5 system-ui,"PingFang SC","Microsoft YaHei","Noto Sans CJK SC",sans-serif;
max-width:1000px;margin:0 auto;padding:16px;background:var(--paper);color:var(--ink)}
h1{font-size:23px}h2{font-size:16px;margin:0 0 12px}
section{background:var(--card);border:1px solid var(--line);border-radius:12px;
padding:16px 20px;margin:0 0 16px}
table{border-collapse:collapse;width:100%}td{padding:3px 12px 3px 0;vertical-align:top;
border-bottom:1px solid var(--line);overflow-wrap:anywhere}
.bar{fill:var(--red)}.all{fill:var(--grey)}.soft{color:var(--soft)}svg{max-width:100%}
code{overflow-wrap:anywhere}details{margin:6px 0}summary{cursor:pointer}p{margin:6px 0}
@media (max-width:600px){section{padding:12px}td{border:0;padding:0}
tr{display:flex;flex-wrap:wrap;gap:0 12px;border-bottom:1px solid var(--line)}}
"""
_ONE = {"en": ".zh{display:none}", "zh": ".en{display:none}"}


def history_page(
    groups: Sequence[FailureGroup], ranking: Ranking, runs: Sequence[RunEntry], language: Language
) -> str:
    style = _STYLE + _ONE[language]
    title = Text("History of failures", "失败历史")
    policy = (
        f"default-src 'none'; style-src '{hash_of(style)}'; base-uri 'none'; form-action 'none'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width,initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", f"{title.in_(language)} - pdtriage"),
        Html(f"<style>{style}</style>"),
    )
    count = Text(
        f"{len(runs)} runs, {len(groups)} different failures",
        f"{len(runs)} 次运行，{len(groups)} 种不同的失败",
    )
    body = tag(
        "body",
        tag("h1", title),
        tag("p", count, class_="soft"),
        _section(Text("Runs by day", "每日运行"), _days(runs)),
        _section(Text("Hosts", "主机"), _wear(ranking.hosts)),
        _section(Text("Cards", "计算卡"), _wear(ranking.cards)),
        _section(Text("Failures", "失败"), *(_group(group) for group in groups[:MOST_GROUPS])),
    )
    lang = "zh-CN" if language == "zh" else "en"
    return f"<!doctype html>\n{tag('html', head, body, lang=lang)}\n"


def _section(title: Text, *content: Html) -> Html:
    return tag("section", tag("h2", title), *content)


def _days(runs: Sequence[RunEntry]) -> Html:
    """A bar for each day: all runs, and those with a cause in front of them."""
    days = Counter(day for run in runs if (day := day_of(run.ended or run.started)))
    bad = Counter(day for run in runs if run.causes and (day := day_of(run.ended or run.started)))
    shown = sorted(days)[-MOST_DAYS:]
    if not shown:
        return tag("p", Text("No run has a time.", "没有一次运行带有时间。"))
    highest = max(days[day] for day in shown)
    bars = []
    for place, day in enumerate(shown):
        label = tag("title", f"{day}: {bad[day]} / {days[day]}")
        for count, kind in ((days[day], "all"), (bad[day], "bar")):
            height = round(100 * count / highest)
            bars.append(
                tag(
                    "rect",
                    label,
                    x=place * 12,
                    y=100 - height,
                    width=10,
                    height=height,
                    class_=kind,
                )
            )
    width = max(240, 12 * len(shown))
    days_shown = f"{shown[0]} … {shown[-1]}"
    words = Text(f"{days_shown}; red: with a cause", f"{days_shown}；红色：有失败原因")
    return join_html(
        tag("svg", *bars, viewBox=f"0 0 {width} 100", width=width, height=100, role="img"),
        tag("p", words, class_="soft"),
    )


def _wear(rows: Sequence[Wear]) -> Html:
    if not rows:
        return tag("p", Text("None was to blame.", "没有。"))
    return tag("table", *map(_wear_row, rows[:MOST_ROWS]))


def _wear_row(row: Wear) -> Html:
    share = row.blamed / row.used
    bar = tag(
        "svg",
        tag("rect", width=100, height=10, class_="all"),
        tag("rect", width=max(1, round(100 * share)), height=10, class_="bar"),
        viewBox="0 0 100 10",
        width=100,
        height=10,
    )
    return tag(
        "tr",
        tag("td", row.name),
        tag("td", bar),
        tag("td", f"{row.blamed} / {row.used} ({share:.0%})"),
        tag("td", counts_text(row.categories)),
    )


def _group(group: FailureGroup) -> Html:
    seen, many = days_text(group.first_seen, group.last_seen), times_text(len(group.runs))
    head = tag(
        "summary",
        group.cause.title,
        Text(f" ({many.en}, {seen})", f"（{many.zh}，{seen}）"),
    )
    changes = changes_since(group.before, group.runs[0])
    return tag(
        "details",
        head,
        tag("p", tag("code", group.fingerprint), f" {group.cause.category} "),
        tag("p", counts_text(group.cards or group.hosts, 20), " ", steps_words(group.steps)),
        tag("p", tag("code", group.cause.evidence)),
        tag("p", Text("New when it first came:", "首次出现时的变化：")) if changes else None,
        tag("ul", *(tag("li", change) for change in changes)) if changes else None,
        tag("table", *map(_run_row, reversed(group.runs[-MOST_RUNS:]))),
    )


def _run_row(run: RunEntry) -> Html:
    cause = run.causes[0]
    rank = "" if cause.rank is None else f"{cause.role} {cause.rank}"
    return tag(
        "tr",
        tag("td", day_of(run.ended or run.started) or "?"),
        tag("td", verdict_word(run.verdict)),
        tag("td", " ".join(filter(None, [rank, cause.host, cause.device]))),
        tag("td", run.place),
    )
