"""The cards on the timeline, by what a stand-in for nvidia-smi wrote beside the logs."""

from __future__ import annotations

from pathlib import Path

from pdtriage.analysis import pipeline

HEAD = (
    "index,uuid,driver_version,name,gpu_serial,display_active,display_mode\n"
    "0,GPU-stand-in,550.54,Stand-in card,0,Disabled,Disabled\n\n"
    "pid,process_name,gpu_uuid,gpu_name,used_memory\n\n"
    "index,utilization_gpu,memory_total,memory_used,memory_free,timestamp\n"
)


def written(folder: Path, *rounds: dict[int, str]) -> list[str]:
    """Texts of the timeline of a job with such a log; a round is every five seconds."""
    lines = [
        f"{card},{values},2024/05/01 10:00:{5 * number:02d}.000\n"
        for number, cards in enumerate(rounds)
        for card, values in cards.items()
    ]
    (folder / "default.gpu.log").write_text(HEAD + "".join(lines))
    for rank in range(2):
        (folder / f"workerlog.{rank}").write_text("epoch: 0, step: 1, loss: 0.5\n" * 3)
    return [moment.text.en for moment in pipeline.analyze(folder).timeline]


BUSY, FULL, IDLE = "97,81920,40000,41920", "97,81920,81000,920", "0,81920,40000,41920"


def test_a_card_whose_memory_is_full(tmp_path: Path) -> None:
    told = written(tmp_path, {0: BUSY, 1: BUSY}, {0: BUSY, 1: FULL}, {0: BUSY, 1: FULL})
    assert told == ["card 1: memory full (79.1 / 80.0 GB)"]


def test_a_card_that_is_lost_from_the_bus(tmp_path: Path) -> None:
    lost = "[GPU is lost],[GPU is lost],[GPU is lost],[GPU is lost]"
    told = written(tmp_path, {0: BUSY, 1: BUSY}, {0: BUSY, 1: lost}, {0: BUSY, 1: lost})
    assert told == ["card 1 no longer answers nvidia-smi"]


def test_a_card_that_is_not_listed_any_more(tmp_path: Path) -> None:
    told = written(tmp_path, {0: BUSY, 2: BUSY}, {0: BUSY}, {0: BUSY}, {0: BUSY})
    assert told == ["card 2 no longer answers nvidia-smi"]


def test_the_card_of_the_rank_that_all_others_wait_for(tmp_path: Path) -> None:
    still = {0: BUSY, 1: BUSY, 2: IDLE, 3: BUSY}
    told = written(tmp_path, dict.fromkeys(range(4), BUSY), still, still, still)
    assert told == ["card 2 did nothing from here on, while all others were busy"]


def test_healthy_cards_are_no_news(tmp_path: Path) -> None:
    assert written(tmp_path, *({0: BUSY, 1: IDLE, 2: BUSY}, {0: IDLE, 1: BUSY, 2: BUSY}) * 3) == []
