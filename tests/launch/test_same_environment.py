"""A child of ours has the environment that it has under Paddle's launchers, in every mode.

Each variable that Paddle's launcher adds is there with the same value; every exception, and every
variable that only we set, is named here with its reason.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from ..ports import free_port
from .conftest import Launcher
from .test_ps_brpc import PYTHON as PADDLE_26
from .test_ps_brpc import why_not

pytestmark = pytest.mark.live
NEW, LEGACY = "paddle.distributed.launch", "paddle.distributed.fleet.launch"
PADDLE_33 = Path(sys.executable)
needs_26 = pytest.mark.skipif(bool(why_not()), reason=why_not() or "-")

NOT_OURS = {
    "PDTRIAGE_JOB_SECRET": "nothing that is started may see it; the fixture sets it",
    "CUSTOM_DEVICE_ROOT": "importing Paddle sets it, in the launcher as in the trainer itself",
}
NOT_OURS_OF_LEGACY = {
    **NOT_OURS,
    "PADDLE_GLOO_FS_PATH": "for gloo over files, which PADDLE_WITH_GLOO=0 beside it switches off",
    "PADDLE_GLOO_RENDEZVOUS": "as above",
    "PADDLE_WITH_GLOO": "0 is what Paddle assumes without it",
    "PADDLE_LOCAL_DEVICE_IDS": "empty where there is no device",
    "PADDLE_WORLD_DEVICE_IDS": "commas alone where there is no device",
}
ONLY_OURS = {
    "PDTRIAGE_LAUNCH": "marks the processes of a launch, so that none outlives it",
    "PADDLE_BACKUP_ENV_PATH": "what the new launcher gives to trainers, all processes get",
}
ONLY_OF_THE_OTHER_LAUNCHER = {
    # the new launcher's in jobs with the flags of the legacy one
    *("PADDLE_AUTO_CLUSTER", "PADDLE_GLOBAL_RANK", "PADDLE_GLOBAL_SIZE", "PADDLE_LOCAL_RANK"),
    *("PADDLE_LOCAL_SIZE", "PADDLE_LOG_DIR", "PADDLE_MASTER", "PADDLE_NNODES", "PADDLE_ROLE"),
    "POD_NAME",
    # the legacy launcher's in jobs with the flags of the new one
    *("CUDA_VISIBLE_DEVICES", "XPU_VISIBLE_DEVICES", "FLAGS_selected_gpus", "FLAGS_selected_xpus"),
    *("PADDLE_COORDINATOR_ENDPOINTS", "PADDLE_HETER_TRAINER_IP_PORT_LIST"),
}
"""One environment serves scripts written for either launcher."""
VARYING = {"PADDLE_BACKUP_ENV_PATH", "POD_NAME", "PADDLE_PORT", "PADDLE_GLOO_FS_PATH", "_"}
COLLECTIVE, PS = ("--nproc_per_node=2",), ("--server_num=1", "--worker_num=2")
HETER = ("--server_num=1", "--worker_num=1", "--heter_worker_num=1", "--heter_devices=cpu")
TRAINERS = {"TRAINER.0", "TRAINER.1"}


@pytest.mark.parametrize(
    ("module", "flags", "processes", "python"),
    [
        pytest.param(NEW, COLLECTIVE, TRAINERS, PADDLE_33, id="collective"),
        pytest.param(NEW, COLLECTIVE, TRAINERS, PADDLE_26, id="collective-2.6", marks=needs_26),
        pytest.param(LEGACY, COLLECTIVE, TRAINERS, PADDLE_33, id="collective-legacy"),
        pytest.param(NEW, ("--run_mode=rpc", *COLLECTIVE), TRAINERS, PADDLE_33, id="rpc"),
        pytest.param(
            NEW,
            ("--run_mode=ps", "--server_num=1", "--trainer_num=2"),
            TRAINERS | {"PSERVER.0"},
            PADDLE_33,
            id="ps",
        ),
        pytest.param(LEGACY, PS, TRAINERS | {"PSERVER.0"}, PADDLE_33, id="ps-legacy"),
        pytest.param(
            LEGACY,
            HETER,
            {"TRAINER.0", "PSERVER.0", "HETER_TRAINER.0"},
            PADDLE_33,
            id="ps-heter",
        ),
    ],
)
def test_a_child_has_what_paddles_launcher_gives_it(
    launcher: Launcher,
    tmp_path: Path,
    module: str,
    flags: tuple[str, ...],
    processes: set[str],
    python: Path,
) -> None:
    paddles, ours = (
        environments(launcher, tmp_path / name, started, flags, python, len(processes))
        for name, started in (("paddle", module), ("ours", "pdtriage run"))
    )
    assert set(paddles) == set(ours) == processes
    not_ours = NOT_OURS_OF_LEGACY if (module, flags) == (LEGACY, COLLECTIVE) else NOT_OURS
    for process in processes:
        theirs, mine = paddles[process], ours[process]
        assert {key: mine.get(key) for key in theirs.keys() - not_ours} == {
            key: value for key, value in theirs.items() if key not in not_ours
        }
        assert mine.keys() - theirs <= ONLY_OURS.keys() | ONLY_OF_THE_OTHER_LAUNCHER


def test_threads_that_the_user_has_set_stay(launcher: Launcher, tmp_path: Path) -> None:
    threads = {"OMP_NUM_THREADS": "3"}
    launch = launcher.run("write_environment.py", str(tmp_path), "1", env=threads)
    assert launch.code == 0, launch.err
    environment = json.loads((tmp_path / "TRAINER.0.json").read_text())
    assert environment["OMP_NUM_THREADS"] == "3"


def test_the_files_beside_the_logs_show_whole_environments(
    launcher: Launcher, tmp_path: Path
) -> None:
    """As Paddle's launcher writes them; but secrets are masked, and one variable is one line."""
    given = {"HUB_TOKEN": "hf_abcdefabcdef", "MOTTO": "two\nlines", "PLAIN": "said"}
    files = {}
    for name, module in (("paddle", NEW), ("ours", "pdtriage run")):
        folder = tmp_path / name / "log"
        launch = launcher.start("act.py", module=module, log_dir=folder, env=given).finish(120)
        assert launch.code == 0, launch.err
        (pod,) = (file for file in folder.glob("default.*.log") if ".gpu." not in file.name)
        files[name] = pod.read_text(), (folder / "envlog.0").read_text().splitlines()
    (pod, lines), (paddles_pod, paddles_lines) = files["ours"], files["paddle"]
    shown, expected = (
        dict(line.partition("=")[::2] for line in each) for each in (lines, paddles_lines)
    )
    assert expected.keys() - shown <= {*NOT_OURS, "lines"}
    assert (shown["HUB_TOKEN"], shown["MOTTO"], shown["PLAIN"]) == ("***", "two\\nlines", "said")
    environs = [
        ast.literal_eval(text.partition("\n")[0].removeprefix("environ(")[:-1])
        for text in (pod, paddles_pod)
    ]
    # Paddle shows its launcher's own environment, which importing Paddle has changed.
    assert environs[1].keys() - environs[0] <= {*NOT_OURS, "OMP_NUM_THREADS"}
    assert environs[0]["HUB_TOKEN"] == "***"
    assert "hf_abcdefabcdef" not in pod + "".join(lines)


def environments(
    launcher: Launcher,
    folder: Path,
    module: str,
    flags: tuple[str, ...],
    python: Path,
    processes: int,
) -> dict[str, dict[str, str]]:
    folder.mkdir()
    of_ours = (f"--python={python}",) if module == "pdtriage run" else ()
    starting = {} if of_ours else {"python": python}
    if "--run_mode=rpc" in flags and not of_ours:
        flags = (f"--master=127.0.0.1:{free_port()}", *flags)  # Paddle does not start without
    words = (*of_ours, *flags, "write_environment.py", str(folder), str(processes))
    launch = launcher.start(*words, module=module, log_dir=folder / "log", **starting)
    assert launch.finish(120).code == 0, launch.err
    return {file.stem: normal(json.loads(file.read_text())) for file in folder.glob("*.json")}


def normal(environment: Mapping[str, str]) -> dict[str, str]:
    """Without what differs between two launches of the same launcher."""
    plain = {}
    for key, value in environment.items():
        value = re.sub(r"(?<=:)\d{4,5}\b", "PORT", value)
        value = re.sub(r"(?<=/)(ours|paddle)(?=/log)|/tmp/tmp\w+", "FOLDER", value)
        plain[key] = "VARIES" if key in VARYING else value
    return plain
