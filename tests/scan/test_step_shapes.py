"""Given the many ways in which programs count, then steps are seen, and evaluations are not."""

from __future__ import annotations

import pytest

from .builders import facts_of


@pytest.mark.parametrize(
    ("line", "epoch", "step"),
    [
        ("Epoch: 92 Batch: {}/24000", 92, 14400),
        ('{{"step": {}, "loss": 0.53}}', None, 120),
        ("第 3 轮 第 {} 步，损失 0.53", 3, 12),
        ("{},0.53,0.91", None, 120),
        ("iter={}/37120", None, 150),
        ("Epoch [1][{}/200]\tlr: 0.1, loss: 0.3", 1, 100),
        ("Train Epoch: 1 [{}/60000 (1%)]\tLoss: 0.31", 1, 640),
        ("Train: 0 [  {}/1251 (  4%)]  Loss: 6.95 (6.95)  Time: 0.421s", 0, 50),
        ("tick {}   kimg 48.0", None, 12),
        ("[rank1] update {}, loss 0.31", None, 300),
        ("INFO - Episode: {}/400, mean reward: 3.5", None, 12),
        (" 35%|███▍      | {}/136 [01:46<02:49,  1.91s/it]", None, 47),
        ("\x1b[31mepoch:[  9/80 ]\x1b[0m \x1b[95mtrain step:{}  \x1b[0m \x1b[92mloss: 0.7", 9, 20),
    ],
)
def test_a_step_is_seen(line: str, epoch: int | None, step: int) -> None:
    text = "\n".join(line.format(step + number) for number in range(3)) + "\n"
    last = facts_of(text.encode()).progress[-1]
    assert (last.epoch, last.step) == (epoch, step + 2)


@pytest.mark.parametrize(
    "line",
    [
        "eval iter=10/50",
        "Epoch(val) [1][79]",
        "3,0,32510,3776,28734,2023/04/13 22:25:03",
        "第 3 名",
        "eval - Episode: 3/400, mean reward: 3.5",
        "update 3 packages",
        "Loading checkpoint shards:  50%|█████     | 1/2 [00:00<00:00, 23.05it/s]",
        "Map (num_proc=8):  10%|█         | 1000/10000 [00:01<00:09, 980.11 examples/s]",
        "[1] loss 0.31",  # which may as well be the rank
    ],
)
def test_what_is_no_step_is_none(line: str) -> None:
    assert facts_of(f"{line}\n".encode()).progress == ()
