"""What is worth another attempt: the knowledge `--restart-on auto` decides by."""

from __future__ import annotations

from pathlib import Path

import pytest

from pdtriage.analysis.authoring.check import check
from pdtriage.knowledge import load_knowledge
from pdtriage.knowledge.categories import categories, meaning_of
from pdtriage.knowledge.load import shipped_folder
from pdtriage.knowledge.retry import ALIKE, sentence, worth_of
from pdtriage.model import CATEGORIES
from pdtriage.support.errors import UserError

KNOWLEDGE = load_knowledge()


@pytest.mark.parametrize("name", CATEGORIES)
def test_every_category_says_whether_and_why(name: str) -> None:
    category = categories()[name]
    assert category.retry in ("yes", "no", "once")
    assert category.retry_why.en
    assert category.retry_why.en != category.retry_why.zh


COMES_BACK = """
python.syntax import.module-not-found python.arguments op.shape data.file-missing
data.file-missing-in-reader config.script-missing config.rank storage.disk-full storage.permission
device.driver-old memory.shm-bus-error device.ordinal checkpoint.path-missing data.label-range
python.keyboard-interrupt external.slurm-cancelled comm.nccl-duplicate-gpu
"""
MAY_PASS = """
device.ecc device.nvlink kernel.xid-hardware device.lost crash.sigbus verdict.killed data.errno5
data.stale-mount data.read-timeout storage.io-on-write comm.gloo-timeout comm.collective-timeout
comm.nccl-system comm.gloo-pair-lost launch.orte-lost external.evicted verdict.outsider
comm.network-down elastic.etcd-unreachable comm.port-in-use verdict.never-joined
"""
EITHER = """
verdict.silent verdict.exit-code python.exception crash.sigsegv memory.gpu-oom kernel.oom-kill
verdict.oom-kill device.illegal-address verdict.hang data.worker-raised
"""


@pytest.mark.parametrize(
    ("name", "retry"),
    [(name, "no") for name in COMES_BACK.split()]
    + [(name, "yes") for name in MAY_PASS.split()]
    + [(name, "once") for name in EITHER.split()],
)
def test_signatures(name: str, retry: str) -> None:
    found = KNOWLEDGE.signatures.get(name)
    category = found.category or "" if found else name
    assert worth_of(name, category, KNOWLEDGE).retry == retry


def test_what_all_ranks_met_is_no_accident() -> None:
    assert worth_of("python.exception", "code.python", KNOWLEDGE, on_all_ranks=True) == (
        "no",
        ALIKE,
    )
    assert worth_of("comm.gloo-timeout", "comm.timeout", KNOWLEDGE, on_all_ranks=True).retry == (
        "yes"
    )
    assert worth_of("verdict.silent", "unknown", KNOWLEDGE, on_all_ranks=True).retry == "once"


def test_an_unknown_signature_goes_by_its_category_and_an_unknown_category_once() -> None:
    assert worth_of("mine.own", "device.hardware", KNOWLEDGE).retry == "yes"
    assert worth_of("mine.own", "mine", KNOWLEDGE).retry == "once"


def test_it_can_be_looked_up() -> None:
    told = sentence(None, "code.import", KNOWLEDGE)
    assert told is not None
    assert told.en.startswith("not worth another attempt: ")
    assert told.zh.startswith("不值得再试：")
    start = next(s for s in KNOWLEDGE.signatures.values() if s.role == "start")
    assert sentence(start, "", KNOWLEDGE) is None
    assert meaning_of("code.import", KNOWLEDGE) is not None


def test_parsers_of_ones_own(tmp_path: Path) -> None:
    source = (shipped_folder() / "data.toml").read_text(encoding="utf-8")
    (tmp_path / "data.toml").write_text(
        source.replace('id = "data.errno5"', 'id = "data.errno5"\nretry = "no"', 1).replace(
            'retry = "yes"', "", 1
        ),
        encoding="utf-8",
    )
    own = load_knowledge([tmp_path])
    assert worth_of("data.errno5", "data.io", own).retry == "no"
    (tmp_path / "data.toml").write_text(
        source.replace('retry = "yes"', 'retry = "perhaps"', 1), encoding="utf-8"
    )
    with pytest.raises(UserError, match="retry must be one of yes, no, once"):
        load_knowledge([tmp_path])


def test_check_refuses_it_where_it_says_nothing() -> None:
    noise = next(s for s in KNOWLEDGE.signatures.values() if s.role == "noise")
    wrong = KNOWLEDGE._replace(signatures={noise.id: noise._replace(retry="yes")})
    assert any("retry says nothing" in problem.message.en for problem in check(wrong))
