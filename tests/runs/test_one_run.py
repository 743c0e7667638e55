"""Given the logs of all recorded jobs, when one is seen at a glance to hold one run, then the
search for the beginnings of others finds none in it, and the same times and processes."""

from __future__ import annotations

from pathlib import Path

from pdtriage.knowledge import load_knowledge
from pdtriage.model import FileFacts
from pdtriage.reading.local import read_sources
from pdtriage.runs.boundary_signs import boundaries
from pdtriage.runs.run_boundaries import Span, _stamped_by_one_run
from pdtriage.scan import Engine
from pdtriage.sources import find

SCENARIOS = Path(__file__).parents[1] / "fixtures/scenarios"


def test_a_glance_sees_what_the_search_finds() -> None:
    facts = _facts_of_all()
    at_a_glance = [(file, seen) for file in facts if (seen := _stamped_by_one_run(file))]
    assert sum(any(event.ends_at for event in file.events) for file, _ in at_a_glance) > 50
    for file, seen in at_a_glance:
        whole = Span(file)
        assert not boundaries(file), file.file.path
        assert (whole.times, whole.pids) == seen, file.file.path


def _facts_of_all() -> list[FileFacts]:
    found = find([str(SCENARIOS)])
    facts, _, _ = read_sources(found, Engine(load_knowledge()))
    return [file for file in facts if file.file.kind == "worker"]
