"""Step markers for trainers: one line a step that pdtriage reads exactly.

    model.fit(data, callbacks=[StepMarkers()])              # paddle.Model, also called hapi
    Trainer(..., callbacks=[StepMarkers(every=10)])         # PaddleNLP

Whatever else a job prints, its ranks can then be told apart by how far each one came. Nothing of
Paddle is imported here: both trainers only call methods by their names.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import datetime, timezone
from numbers import Real
from typing import Any, TextIO


class StepMarkers:
    """Writes `[TIME] pdtriage-step: 12, epoch: 1, total: 100, loss: 0.53` after every step.

    `every` so many steps, if that is too much; the first one and the last one are always written.
    """

    def __init__(self, every: int = 1, stream: TextIO | None = None) -> None:
        self._every = max(1, every)
        self._stream = stream
        self._step = self._written = 0
        self._epoch: int | None = None
        self._total: int | None = None
        self._loss: float | None = None

    def on_epoch_begin(self, *given: Any, **_: Any) -> None:
        """hapi tells the epoch as a number; PaddleNLP tells its state with every step."""
        if given and isinstance(given[0], int):
            self._epoch = given[0]

    def on_train_batch_end(self, _step: int, logs: Mapping[str, Any] | None = None) -> None:
        """Prints a step; hapi counts anew in every epoch, here steps go on."""
        self._step += 1
        self._loss = _number((logs or {}).get("loss"))
        self._mark()

    def on_step_end(self, _arguments: Any, state: Any, control: Any, **_: Any) -> Any:
        self._step, self._total = int(state.global_step), _count(state.max_steps)
        self._epoch = _count(state.epoch)
        self._mark()
        return control

    def on_log(self, _arguments: Any, _state: Any, control: Any, **given: Any) -> Any:
        self._loss = _number((given.get("logs") or {}).get("loss"))
        return control

    def on_train_end(self, *_: Any, **__: Any) -> None:
        if self._written < self._step:
            self._write()

    def __getattr__(self, name: str) -> Any:
        """All else that a trainer may tell is of no interest."""
        if name.startswith(("on_", "set_")):
            return lambda *_, **__: None
        raise AttributeError(name)

    def _mark(self) -> None:
        if self._step == 1 or self._step % self._every == 0:
            self._write()

    def _write(self) -> None:
        self._written = self._step
        now = datetime.now(timezone.utc).astimezone()
        values = {"epoch": self._epoch, "total": self._total, "loss": self._loss}
        more = "".join(f", {name}: {value}" for name, value in values.items() if value is not None)
        time = now.strftime("%Y-%m-%d %H:%M:%S,") + f"{now.microsecond // 1000:03}"
        stream = self._stream or sys.stdout
        # at the beginning of a line, whatever a progress bar has left there; in one piece
        stream.write(f"\n[{time}] pdtriage-step: {self._step}{more}\n")
        stream.flush()


def _number(value: Any) -> float | None:
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    try:
        return float(value) if isinstance(value, Real) or hasattr(value, "item") else None
    except (TypeError, ValueError):
        return None


def _count(value: Any) -> int | None:
    return int(value) if isinstance(value, (int, float)) and value >= 0 else None
