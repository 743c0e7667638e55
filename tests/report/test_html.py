"""The page: self-contained, small, inert; and, in a real browser, usable."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import pytest

from benchmarks.many_ranks import ManyRanks
from pdtriage.analysis.pipeline import analyze
from pdtriage.model import Text
from tests.report import reports
from tests.report.browser import CHROMIUM, Browser, running
from tests.report.writing import all_written, written

SCENARIOS = Path(__file__).parents[1] / "fixtures" / "scenarios"
VISIBLE = "document.body.innerText"


class Outline(HTMLParser):
    """Tags, attributes, and the text of style and script."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.attributes: list[tuple[str, str, str]] = []
        self.raw: dict[str, list[str]] = {"style": [], "script": []}
        self.open: list[str] = []
        self._void = {"meta", "input"}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in self._void:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in self.raw:
            self.raw[self.open[-1]].append(data)


@pytest.fixture(params=["failed", "succeeded", "large", "unknown", "chinese"])
def page(request: pytest.FixtureRequest) -> str:
    return written(
        {
            "failed": reports.failed(),
            "succeeded": reports.succeeded(),
            "large": reports.large(),
            "unknown": reports.empty(),
            "chinese": reports.in_chinese(reports.failed()),
        }[request.param],
        "html",
    )


def test_it_is_well_formed_and_asks_for_nothing_outside(page: str) -> None:
    outline = Outline(page)
    assert outline.open == []
    for tag, name, value in outline.attributes:
        assert name not in ("src", "style", "action", "srcset", "data"), (tag, name)
        assert not name.startswith("on"), (tag, name)
        if name == "href":
            assert value.startswith("#")
    assert not re.search(r"@import|url\(", outline.raw["style"][0])


def test_the_policy_allows_just_what_is_in_it(page: str) -> None:
    outline = Outline(page)
    (policy,) = (v for _, n, v in outline.attributes if n == "content" and "default-src" in v)
    for kind in ("style", "script"):
        (content,) = outline.raw[kind]
        digest = b64encode(sha256(content.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy


def test_ids_are_unique() -> None:
    outline = Outline(all_written([reports.failed(), reports.failed()], "html"))
    ids = [value for _, name, value in outline.attributes if name == "id"]
    assert len(ids) == len(set(ids))


def test_a_thousand_ranks_stay_below_a_megabyte_even_with_long_evidence() -> None:
    long = reports.io_error().evidence[0]._replace(text="x" * 2000, before=("y" * 2000,) * 8)
    causes = tuple(
        reports.io_error()._replace(rank=n, ranks=(n,), evidence=(long,) * 10) for n in range(40)
    )
    report = reports.large(1024)._replace(root_causes=causes)
    text = written(report, "html")
    assert 200_000 < len(text.encode()) < 1_000_000
    assert "more causes are in the JSON report" in text
    assert "more places" in text


def test_all_lanes_are_there_and_folded() -> None:
    text = written(reports.large(1024), "html")
    assert text.count("data-status=") == 1024
    assert text.count('<details class="fate">') == 3


def test_lanes_of_a_large_job_speak_the_language_of_the_report() -> None:
    text = written(reports.in_chinese(reports.large(1024)), "html")
    ends = set(re.findall(r'<span class="end">([^<]+)</span>', text))
    assert ends
    assert all("第" in end and "step" not in end for end in ends)


def test_a_lane_has_everything_that_happened_to_its_rank() -> None:
    text = written(reports.failed(), "html")  # 95 seconds
    lane = next(lane for lane in re.findall(r'<div class="lane culprit".*?</div>', text))
    assert '<rect x="42" y="6" width="916"' in lane, "from the first sign of life at 4 to 91"
    steps = re.search(r'<path class="m-progress" d="([^"]*)"/>', lane)
    assert steps is not None
    assert steps[1].startswith("M105 7v6m158-6v6")
    assert steps[1].count("v") == 6
    for kind, words in {
        "start": "started / 启动",
        "warning": "a read was tried again (× 3) / 重试读取（3 次）",
        "error": "OSError: [Errno 5]",
        "exit": "exited with code 1 / 以退出码 1 结束",
    }.items():
        drawn = rf'<path class="m-{kind}" d="M\d+ \d+v\d+"><title>{re.escape(words)}</title>'
        assert re.search(drawn, lane), kind
    assert 'class="m-signal"' not in lane


def test_a_fold_tells_what_many_ranks_did_once() -> None:
    text = written(reports.large(1024), "html")
    folds = re.findall(r'<summary class="lane victim">.*?</summary>', text)
    assert folds
    for fold in folds:  # one shape for each kind of thing, however many did it
        assert len(re.findall(r'<path class="h-\w+"', fold)) == fold.count("<path") <= 8
        assert 'class="h-exit" d="M' in fold
    few = written(reports.large(32), "html")
    assert "× ended by SIGTERM" in few


def test_the_table_holds_every_moment_of_a_small_job_and_marks_estimates() -> None:
    text = written(reports.failed(), "html")
    report = reports.failed()
    every = sum(len(row.moments) for row in report.ranks) + len(report.timeline)
    assert f"{every} moments as a table" in text
    assert "<td>~ 23:41:30</td>" in text or "<td>~ " in text
    assert "most telling moments" in written(reports.large(1024), "html")
    assert '<td><span class="en" lang="en">ranks 0-3</span>' in text, "at once is one row"


def test_no_effect_is_drawn_before_its_cause_where_clocks_are_minutes_apart(
    tmp_path: Path,
) -> None:
    report = analyze(ManyRanks(32, most_hosts=8).write(tmp_path / "log"))
    offsets = {row.host: row.clock_offset for row in report.ranks}
    assert (offsets["10.7.0.1"], offsets["10.7.0.6"], offsets["10.7.0.7"]) == (-90, None, 510)
    text = written(report, "html")
    assert "clocks of 7 hosts that differ are set right" in text
    rows = re.findall(r'<tr class="t-(\w+)"><td>(~ )?(\d\d:\d\d:\d\d)</td>', text)
    kinds = [kind for kind, _, _ in rows]
    assert kinds.index("error") < kinds.index("symptom") < kinds.index("signal")
    times = [time for _, _, time in rows]
    assert times == sorted(times)
    assert times[0] == "22:04:50", "all hosts began at once"
    death = next(m.t for m in report.timeline if m.kind == "error")
    first, last = (float(re.findall(f'data-{end}="([^"]+)"', text)[0]) for end in ("first", "last"))
    assert death is not None
    culprits = 1000 * (death - first) / (last - first)
    lanes = re.findall(r'<div class="lane victim".*?</div>', text)
    assert len(lanes) == 31
    for lane in lanes:
        for place in re.findall(r'class="m-(?:symptom|signal)" d="M(\d+)', lane):
            assert int(place) >= round(culprits)


def test_cards_of_hosts_whose_clocks_differ_are_drawn_by_one_clock() -> None:
    report = reports.with_course(reports.failed())
    ahead = tuple(
        row._replace(clock_offset=30.0 if row.rank == 0 else None) for row in report.ranks
    )
    left = [
        re.findall(r'class="c-other" d="M(-?\d+) ', chart)
        for chart in written(report._replace(ranks=ahead), "html").split("<figcaption>")
        if "Memory of the cards" in chart
    ]
    assert len({place for places in left for place in places}) == 2


def test_logs_without_times_say_so_instead_of_drawing_nothing() -> None:
    report = reports.failed()
    rows = tuple(
        row._replace(first_seen=None, last_seen=None, progress=(), moments=())
        for row in report.ranks
    )
    runs = (report.runs[0]._replace(started=None, ended=None),)
    text = written(report._replace(ranks=rows, runs=runs, timeline=()), "html")
    assert "These logs hold no times" in text
    assert 'svg class="life"' not in text


def test_a_job_too_large_to_draw_says_so() -> None:
    text = written(reports.large(4096), "html")
    assert len(text.encode()) < 1_000_000
    assert "more ranks of this kind are not drawn" in text


def test_long_names_do_not_make_the_page_large() -> None:
    report = reports.large(1024)
    rows = tuple(row._replace(host=f"{row.host}.{'node-' * 60}") for row in report.ranks)
    text = written(report._replace(ranks=rows), "html")
    assert len(text.encode()) < 1_000_000
    assert "more ranks of this kind are not drawn" in text


def test_every_sentence_is_there_in_both_languages() -> None:
    text = written(reports.failed(), "html")
    cause = reports.failed().root_causes[0]
    for sentence in (cause.title, *cause.advice, *cause.why, *reports.failed().notes):
        assert sentence.en.replace("'", "&#x27;") in text
        assert sentence.zh in text


def test_arrows_lead_from_the_cause_to_its_effects() -> None:
    drawing = re.search(r'<svg [^>]*class="graph".*?</svg>', written(reports.failed(), "html"))
    assert drawing is not None
    boxes = re.findall(r'<rect x="(\d+)" y="\d+" width="(\d+)"', drawing[0])
    left = min(int(x) for x, _ in boxes)
    width = int(boxes[0][1])
    for begin, end in re.findall(r'd="M(\d+) \d+C.*? (\d+) \d+" class="edge"', drawing[0]):
        assert int(begin) == left + width, "it starts at the box on the left …"
        assert int(end) > int(begin), "… and points at one on the right"
    culprit, victim = drawing[0].index("rank 1, 192.168.0.12"), drawing[0].index("ranks 2, 3")
    assert culprit < victim
    assert drawing[0].count("marker-end") == 2


@pytest.mark.parametrize("ranks", [64, 1024])
def test_a_large_job_has_a_map_with_a_cell_for_every_rank(ranks: int) -> None:
    text = written(reports.large(ranks), "html")
    found = re.search(r'<div class="rank-map".*?</section>', text)
    assert found is not None
    drawn = found[0]
    assert drawn.count("<rect class=") == ranks - 1
    assert drawn.count('<path class="f-culprit"') == 1, "a cross, not a colour alone"
    assert f"rank {ranks - 7}" in drawn.split('class="f-culprit"')[1][:300]
    assert drawn.count('class="host-row"') == ranks // 8
    assert 'role="img" aria-label="1 failed, exit 1; ' in drawn
    assert f"<b>{ranks // 4}</b>" in text, "the legend counts every fate"
    assert len(text.encode()) < 1_000_000


def test_numbers_of_ranks_are_not_cut_in_two() -> None:
    text = written(reports.large(1024), "html")
    drawing = re.search(r'<svg [^>]*class="graph".*?</svg>', text)
    assert drawing is not None
    names = re.findall(r'class="name"[^>]*>ranks ([^<]+)<', drawing[0])
    assert names
    assert all(re.fullmatch(r"[\d, -]+, \.\.\.", name) for name in names)
    for name in names:
        victims = [v.rank for v in reports.large(1024).victims]
        assert all(int(n) in victims for n in re.findall(r"\d+", name))
    last = {re.findall(r"\d+", name)[-1] for name in names}
    assert last <= {str(n) for n in range(8, 60)}, "the last number is whole"


def test_a_map_says_whether_its_rows_are_hosts() -> None:
    report = reports.large(64)
    assert "All ranks by host" in written(report, "html")
    nowhere = report._replace(ranks=tuple([row._replace(host=None) for row in report.ranks]))
    page = written(nowhere, "html")
    assert "All ranks by host" not in page
    assert "全部 rank" in page


def test_a_small_job_has_lanes_only() -> None:
    assert 'class="rank-map' not in written(reports.failed(), "html")


def test_curves_show_the_culprit_before_the_others() -> None:
    text = written(reports.with_course(reports.failed()), "html")
    for title in ("Step rate", "Loss", "Memory of the cards", "How busy the cards were"):
        chart = text.split(f'<b><span class="en" lang="en">{title}</span>')[1]
        chart = chart.split("</figure>")[0]
        assert chart.count('class="c-culprit"') == 1, title
        assert chart.count('class="c-other"') == 3, title
        assert chart.rindex('class="c-culprit"') > chart.rindex('class="c-other"'), "on top"
        assert chart.count("<tr>") == 5, "the same as a table"
    assert "rank 1 at the end 2 steps/s, the others 4 steps/s" in text
    assert re.search(r"most 27.3 GB on 192\.168\.0\.1\d gpu:\d", text)
    rate = text.split("Step rate</span>")[1].split("</figure>")[0]
    assert "<span>0</span>" in rate, "what is a tenth slower looks a tenth slower"


def test_curves_of_many_are_a_band_and_a_loss_may_be_no_number() -> None:
    report = reports.with_course(reports.large(1024))
    lost = report.ranks[1017]._replace(losses=((None, 0, 2.5), (None, 10, 1.5), (None, 20, None)))
    rows = (*report.ranks[:1017], lost, *report.ranks[1018:])
    text = written(report._replace(ranks=rows), "html")
    assert text.count('class="c-band"') == 2
    assert text.count('class="c-nan"') == 1
    assert "then no number any more (NaN)" in text
    assert "step 0" in text, "without times it is drawn over steps"
    assert len(text.encode()) < 1_000_000


def test_a_job_that_tells_no_steps_has_no_curves() -> None:
    assert 'class="charts"' not in written(reports.failed(), "html")


# --- in a browser ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("chromium is not installed (Debian: apt-get install chromium)")
    with running(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture
def failed_page(tmp_path: Path) -> Path:
    file = tmp_path / "report.html"
    file.write_text(written(reports.failed(), "html"), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    "scenario", ["data-errno5-worker", "nodes-segfault", "ps-server-dies", "nodes-success"]
)
def test_recorded_jobs_are_shown_without_complaint(
    browser: Browser, tmp_path: Path, scenario: str
) -> None:
    file = tmp_path / "report.html"
    report = analyze(SCENARIOS / scenario)
    file.write_text(written(report, "html"), encoding="utf-8")
    browser.open(file)
    assert browser.console == []
    shown = browser.evaluate(VISIBLE)
    for cause in report.root_causes[:1]:
        assert cause.title.en in shown
        assert cause.evidence[0].text.strip() in shown


def test_the_answer_is_on_the_first_screen(browser: Browser, failed_page: Path) -> None:
    browser.open(failed_page, 1280, 720)
    bottom = browser.evaluate("document.querySelector('dl').getBoundingClientRect().bottom")
    assert bottom < 720


def test_languages_are_switched_without_a_script(browser: Browser, failed_page: Path) -> None:
    browser.without_scripts(True)
    try:
        browser.open(failed_page)
        shown = browser.evaluate(VISIBLE)
        assert "What to do" in shown
        assert "怎么办" not in shown
        assert browser.evaluate("document.querySelector('.tools').hidden")
        browser.evaluate("document.getElementById('lang-zh').click()")
        shown = browser.evaluate(VISIBLE)
        assert "怎么办" in shown
        assert "读取数据时发生 I/O 错误" in shown
        assert "What to do" not in shown
    finally:
        browser.without_scripts(False)


def test_keys_alone_are_enough(browser: Browser, failed_page: Path) -> None:
    browser.open(failed_page)
    visited = []
    for _ in range(30):
        browser.press("Tab", 9)
        visited.append(browser.evaluate("document.activeElement.tagName"))
    for tag in ("A", "INPUT", "SELECT", "BUTTON", "SUMMARY", "PRE"):
        assert tag in visited
    browser.evaluate("document.querySelector('.fate > summary').focus()")
    browser.press("Enter", 13, "\r")
    assert browser.evaluate("document.querySelector('.fate').open")


def test_choices_speak_the_language_of_the_page(browser: Browser, failed_page: Path) -> None:
    browser.open(failed_page)
    options = "[...document.querySelectorAll('option')].map((o) => o.textContent).join()"
    assert not re.search("[\u4e00-\u9fff]", browser.evaluate(options))
    browser.evaluate("document.getElementById('lang-zh').click()")
    assert browser.evaluate(options).startswith("全部")
    assert "victim" not in browser.evaluate(options)


def test_lanes_are_filtered_and_zoomed(browser: Browser, failed_page: Path) -> None:
    browser.open(failed_page)
    browser.evaluate(
        "s = document.querySelector('select[data-filter=host]'); s.value = '192.168.0.12';"
        "s.dispatchEvent(new Event('change'))"
    )
    lanes = "[...document.querySelectorAll('.lane[data-status]')]"
    drawn = f"{lanes}.filter(lane => lane.checkVisibility()).length"
    assert browser.evaluate(drawn) == 2
    assert browser.evaluate("document.querySelector('.count').textContent") == "2 / 4"
    before = browser.evaluate("document.querySelector('.ticks').textContent")
    browser.evaluate("document.querySelector('button[data-zoom=in]').click()")
    assert browser.evaluate("document.querySelector('.ticks').textContent") != before
    box = browser.evaluate("document.querySelector('svg.life').getAttribute('viewBox')")
    assert box == "250 0 500 20"
    browser.evaluate("s.value = ''; s.dispatchEvent(new Event('change'))")
    assert browser.evaluate("document.querySelectorAll('.fate[open]').length") == 0
    assert browser.evaluate(f"{lanes}.filter(lane => lane.hidden).length") == 0


@pytest.mark.parametrize("width", [360, 390, 768, 1280, 1920])
def test_nothing_sticks_out(browser: Browser, tmp_path: Path, width: int) -> None:
    for report in (reports.failed(), reports.large(64), reports.large(1024)):
        file = tmp_path / "report.html"
        file.write_text(written(reports.with_course(report), "html"), encoding="utf-8")
        for dark in (False, True):
            browser.open(file, width, 800, dark)
            wide = browser.evaluate("document.documentElement.scrollWidth")
            assert wide <= width
            assert browser.console == []


def test_pictures_need_no_script(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(written(reports.with_course(reports.large(64)), "html"), encoding="utf-8")
    browser.without_scripts(True)
    try:
        browser.open(file)
        drawn = "[...document.querySelectorAll('.rank-map svg, .plot svg')]"
        sizes = browser.evaluate(
            f"{drawn}.map(svg => svg.getBoundingClientRect()).map(r => [r.width, r.height])"
        )
        assert len(sizes) == 8 + 2
        assert all(width > 60 and height > 8 for width, height in sizes)
    finally:
        browser.without_scripts(False)


def test_dark_and_light(browser: Browser, failed_page: Path) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    browser.open(failed_page, dark=False)
    light = browser.evaluate(colour)
    browser.open(failed_page, dark=True)
    assert browser.evaluate(colour) != light


def test_contrast_is_enough_to_read(browser: Browser, failed_page: Path) -> None:
    """WCAG AA: 4.5 for text, on its own background, in both schemes."""
    for dark in (False, True):
        browser.open(failed_page, dark=dark)
        worst = browser.evaluate(_WORST_CONTRAST)
        assert worst["ratio"] >= 4.5, worst


def test_it_prints(browser: Browser, failed_page: Path) -> None:
    browser.open(failed_page)
    assert browser.printed().startswith(b"%PDF")


def test_a_large_job_opens_quickly(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "large.html"
    file.write_text(written(reports.large(1024), "html"), encoding="utf-8")
    browser.open(file)
    assert browser.evaluate("performance.getEntriesByType('navigation')[0].duration") < 5000
    height = browser.evaluate("document.querySelector('.lanes').getBoundingClientRect().height")
    assert height < 400


def test_script_in_a_log_is_text(browser: Browser, tmp_path: Path) -> None:
    evil = "</script><script>document.title='taken'</script><img src=x onerror=document.title=1>"
    cause = reports.io_error()._replace(
        title=Text(evil, evil),
        host=evil,
        fields={evil: evil},
        evidence=(reports.io_error().evidence[0]._replace(text=evil, file=evil),),
    )
    report = reports.failed()._replace(root_causes=(cause,), notes=(Text(evil, evil),))
    file = tmp_path / "evil.html"
    file.write_text(written(report, "html"), encoding="utf-8")
    browser.open(file)
    assert browser.evaluate("document.title").startswith("FAILED")
    assert browser.evaluate("document.images.length") == 0
    assert browser.evaluate("document.scripts.length") == 1
    assert browser.console == []


_WORST_CONTRAST = """(() => {
  const numbers = (c) => c.match(/[\\d.]+/g).map(Number);
  const light = (c) => {
    const [r, g, b] = numbers(c).map((v) => v / 255)
      .map((v) => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = getComputedStyle(e).backgroundColor;
      if (numbers(c)[3] !== 0) return c;
    }
  };
  let worst = {ratio: 99};
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || !e.checkVisibility() || e.closest("svg, script")) continue;
    const a = light(getComputedStyle(e).color), b = light(behind(e));
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < worst.ratio) worst = {ratio, text: walk.currentNode.data, html: e.outerHTML};
  }
  return worst;
})()"""


def test_every_frame_of_a_stack_has_a_line_of_its_own() -> None:
    text = written(reports.hung(), "html")
    stacks = re.findall(r'<pre tabindex="0">((?:<span>[^<]*</span>\n?)+)</pre>', text)
    frames = [frame for stack in stacks for frame in stack.split("\n")]
    assert len(frames) > len(stacks)
    assert all(frame.count("(") == 1 for frame in frames), frames
