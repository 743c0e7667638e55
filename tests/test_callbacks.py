"""Step markers: what a trainer did is read exactly, whatever else it prints."""

from __future__ import annotations

import subprocess
import sys
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import pdtriage
from pdtriage.callbacks import StepMarkers
from tests.running import clean_environment

HAPI = """
import paddle
from pdtriage.callbacks import StepMarkers

class Data(paddle.io.Dataset):
    def __len__(self): return 28
    def __getitem__(self, at): return paddle.ones([2]) * at, paddle.ones([1])

model = paddle.Model(paddle.nn.Linear(2, 1))
model.prepare(paddle.optimizer.SGD(0.001, parameters=model.parameters()), paddle.nn.MSELoss())
model.fit(Data(), batch_size=4, epochs=3, verbose=2, callbacks=[StepMarkers(every=5)])
raise OSError(5, "Input/output error")
"""


def test_a_real_hapi_trainer(tmp_path: Path) -> None:
    script, log = tmp_path / "train.py", tmp_path / "workerlog.0"
    script.write_text(HAPI)
    with log.open("wb") as stream:
        subprocess.run(
            [sys.executable, str(script)],
            stdout=stream,
            stderr=stream,
            env=clean_environment(),
            check=False,
        )
    text = log.read_text()
    assert text.count("pdtriage-step: ") == 6, "1, 5, 10, 15, 20 and the last one"
    assert "pdtriage-step: 21, epoch: 2, loss: " in text
    report = pdtriage.analyze(tmp_path)
    assert report.ranks[0].last_step == 21
    assert report.root_causes[0].category == "data.io"


def test_a_trainer_like_that_of_paddlenlp(tmp_path: Path) -> None:
    """It calls every event by its name, with its arguments, its state and its control."""
    stream = StringIO()
    markers = StepMarkers(stream=stream)
    control = object()
    arguments = SimpleNamespace()
    state = SimpleNamespace(global_step=0, max_steps=40, epoch=0.0)
    for event in ("on_init_end", "on_train_begin", "on_epoch_begin", "on_step_begin"):
        assert getattr(markers, event)(arguments, state, control, model=None) is None
    for step in range(1, 8):
        state.global_step, state.epoch = step, step / 4
        assert markers.on_log(arguments, state, control, logs={"loss": 0.5 / step}) is control
        assert markers.on_step_end(arguments, state, control, optimizer=None) is control
    markers.on_train_end(arguments, state, control)
    (tmp_path / "workerlog.0").write_text(stream.getvalue())
    assert stream.getvalue().count("pdtriage-step: ") == 7
    assert pdtriage.analyze(tmp_path).ranks[0].last_step == 7


def test_nothing_of_paddle_is_imported() -> None:
    code = "import sys, pdtriage.callbacks, pdtriage.pytest_plugin; print('paddle' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
