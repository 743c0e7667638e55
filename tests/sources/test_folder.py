"""A folder in, the logs in it out."""

from __future__ import annotations

from pathlib import Path

from pdtriage.sources import find


def test_the_files_of_a_launcher_are_known_by_name(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.mkdir()
    for name in ("workerlog.10", "workerlog.2", "serverlog.0", "heterlog.1", "coordinator.0"):
        (log / name).write_bytes(b"text\n")
    (log / "envlog.0").write_bytes(b"PADDLE_TRAINER_ID=0\n")

    found = find([log])

    assert [(s.file.path, s.file.kind, s.file.index) for s in found.sources] == [
        ("log/coordinator.0", "coordinator", 0),
        ("log/envlog.0", "env", 0),
        ("log/heterlog.1", "heter", 1),
        ("log/serverlog.0", "server", 0),
        ("log/workerlog.2", "worker", 2),
        ("log/workerlog.10", "worker", 10),
    ]
    assert {s.file.folder for s in found.sources} == {"log"}
    assert found.notes == ()
