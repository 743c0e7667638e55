"""A throw-away place that has what the advice speaks of, to paste its commands into a shell there.

A train.py, logs of the launcher, data, checkpoints, a Python with Paddle that pip may change, a
network and mounts of its own. What cannot exist in it (cards, a cluster, a scheduler, the log of a
kernel, packages of a distribution) is a stand-in: a script of that name in `stand-ins/`, which
knows the real one's flags, refuses all others and prints what the real one prints. They stand in
for nothing that pdtriage does.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import NamedTuple
from zipfile import ZipFile

import pytest

ROOTS = ("/data/", "/mnt/", "/srv/", "/home/user/", "/opt/conda/", "/opt/train/")
"""Folders of the machines on which jobs were recorded; here they are folders of the room."""
_ENTER = """
ip link set lo up && mount -t tmpfs -o size=64m none /dev/shm || exit 125
coproc HOLD { exec "$1" -c 'import socket, sys
held = socket.create_server(("127.0.0.1", 6070)); print(flush=True); sys.stdin.read()'; }
read -ru "${HOLD[0]}"
timeout -k 5 "$3" bash -c "$2"
exit $?
"""
_OWN = ("--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
_ALONE = (["unshare", *_OWN], ["unshare", "-r", *_OWN])
PACKAGES = ("paddlepaddle", "paddlepaddle_gpu", "pycocotools_next", "paddleseg_extras")
PACKAGES += ("opencv_python_headless", "pyflakes")
TRAIN = """
import os, sys
from pathlib import Path

local_rank = int(os.environ.get("PADDLE_TRAINER_ID", 0))
dataset = [([0],)]
if local_rank == 0:
    print("trained")
best = "metric_for_best_model"
if len(sys.argv) > 5:
    set_device("gpu"); get_rank(); sub_layer = model.module
    sys.exit(3)
"""
FILES = {
    "train.py": TRAIN,
    "tools/train.py": TRAIN,
    "work/code/train.py": TRAIN,
    "requirements.txt": "paddleseg-extras\n",
    "train_list.txt": "a.jpg\tone\n",
    "outputs/iassd_kitti/log.txt": "epoch 1\n",
    "output/best_model/model.pdparams": "weights",
    "output/step_5/model.pdparams": "weights",
    "data/kinetics100/train_video/one.mp4": "film",
    "dataset/coco/train2017/000000356941.jpg": "picture",
    "dataset/coco/train2017/000000471521.jpg": "picture",
    "dataset/coco/train2017/000000005376.jpg": "picture",
    "dataset/coco/train2017/000000101877.jpg": "picture",
    r"D:\px\datasets\D0004\ok\212.jpg": "GIF89a not complete",
    "FILE": "\x80\x02 weights",
    "PATH": "what was asserted",
    "DATA/empty.npy": "",
    "DATA/whole.npy": "numbers",
    "data/train/shard-00016.npy": "numbers",
    "mnt/checkpoints/readme": "",
    "srv/train/tools/train.py": TRAIN,
    "home/user/.cache/paddle/to_static_tmp/880142/one": "graph",
    "opt/conda/lib/libstdc++.so.6": "GLIBCXX_3.4.30\nCXXABI_1.3\n",
    "opt/conda/bin/python": "",
    "log/workerlog.0": "step 1 loss 2.0\n",
    "log/workerlog.1": "step 1 loss 2.0\nKeyError: 7\n",
    "log/serverlog.0": "run server\n",
    "log/envlog.0": "PADDLE_TRAINER_ID: 0\nPADDLE_TRAINERS_NUM: 2\nFLAGS_selected_gpus: 0\n"
    "PADDLE_TRAINER_ENDPOINTS: 10.0.0.1:6170,10.0.0.2:6170\n",
    "log/envlog.1": "PADDLE_TRAINER_ID: 0\nPADDLE_TRAINERS_NUM: 4\nFLAGS_selected_gpus: 0\n"
    "PADDLE_TRAINER_ENDPOINTS: 10.0.0.2:6170,10.0.0.1:6170\n",
    "node0/workerlog.0": "step 1\n",
    "node1/workerlog.0": "step 1\nKeyError: 7\n",
    "console.log": "LAUNCH INFO\n",
}
STAND_INS = {
    "nvidia-smi": """
case "$*" in
-L) echo "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-stand-in)" ;;
"") printf '+---+\\n| NVIDIA-SMI 535.104   Driver Version: 535.104   CUDA Version: 12.2 |\\n' ;;
"--query-compute-apps=pid,process_name,used_memory --format=csv")
  echo "pid, process_name, used_gpu_memory [MiB]"; echo "4711, python, 39120 MiB" ;;
"-q -d ECC,ROW_REMAPPER"|"-q -d TEMPERATURE,ECC"|"-q -d ECC") echo "    ECC Errors" ;;
"--gpu-reset -i "*) echo "GPU 00000000:07:00.0 was successfully reset." ;;
*) echo "Invalid combination of input arguments: $*" >&2; exit 2 ;; esac""",
    "dmesg": """
test "$*" = -T || { echo "dmesg: unknown option $*" >&2; exit 1; }
echo "[Sat Nov 15 23:45:20 2025] Out of memory: Killed process 4711 (python)"
echo "[Sat Nov 15 23:45:20 2025] NVRM: Xid (PCI:0000:07:00): 31, pid=4711"
echo "[Sat Nov 15 23:45:20 2025] nfs: server filer not responding"
echo "[Sat Nov 15 23:45:20 2025] EXT4-fs (sda1): Remounting filesystem read-only"
""",
    "sacct": """
case "$*" in "-j JOBID"|"-j JOBID --format="*) echo "JOBID  TIMEOUT" ;;
*) echo "sacct: unrecognized option $*" >&2; exit 1 ;; esac""",
    "kubectl": """
case "$*" in "describe pod POD"|"logs POD --previous") echo "Reason: OOMKilled" ;;
*) echo "error: unknown command $*" >&2; exit 1 ;; esac""",
    "journalctl": """
test "$*" = "--since today" || { echo "journalctl: unrecognized option $*" >&2; exit 1; }
echo "Nov 15 23:45:20 host systemd-oomd[1]: Killed /user.slice/job.scope" """,
    "apt-get": """
test "$1 $2" = "install -y" -a -n "$3" || { echo "E: Invalid operation $*" >&2; exit 100; }
echo "Setting up $3" """,
    "yum": """
test "$1 $2" = "install -y" -a -n "$3" || { echo "No such command: $*" >&2; exit 1; }
echo "Installed: $3" """,
    "conda": """
test "$1 $2" = "install -c" -a -n "$4" || { echo "conda: error: argument $*" >&2; exit 2; }
echo "done $4" """,
    "xpu-smi": 'test -z "$*" && echo "| XPU-SMI |"',
    "etcdctl": 'test "$*" = "get --prefix /ps" && echo /ps/0',
    "nc": 'test "$*" = "-vz MASTER_IP PORT" && echo "Connection to MASTER_IP PORT port succeeded!"',
    "torchrun": 'test "$*" = "--nproc_per_node 2 train.py" && echo trained',
}


class Outcome(NamedTuple):
    code: int
    text: str
    """What it printed and complained of."""


class Room:
    """Commands are pasted one after another into new shells, as by somebody who tries them all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._bin, self._stand_ins = folder / "python" / "bin", folder / "stand-ins"
        self._furnish()
        self._alone = self._network()

    def paste(self, command: str, seconds: int = 100) -> Outcome:
        """What a shell answers; 124 is the code of one that is still at it after that long."""
        for root in ROOTS:
            command = command.replace(root, f"{self.folder}{root}")
        variables = {
            "PATH": f"{self._stand_ins}:{self._bin}:{os.environ['PATH']}",
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(self.folder / "wheels"),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "CONDA_PREFIX": f"{self.folder}/opt/conda",
        }
        done = subprocess.run(
            [*self._alone, "bash", "-c", _ENTER, "bash", sys.executable, command, str(seconds)],
            cwd=self.folder,
            env=os.environ | variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            errors="replace",
        )
        return Outcome(done.returncode, done.stdout)

    def _furnish(self) -> None:
        for name, content in FILES.items():
            file = self.folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content, encoding="utf-8")
        self._stand_ins.mkdir()
        for name, script in STAND_INS.items():
            file = self._stand_ins / name
            file.write_text(f"#!/bin/bash\n{script}\n", encoding="utf-8")
            file.chmod(0o755)
        self._make_wheels()
        venv.create(self.folder / "python", with_pip=True, symlinks=True)
        own = next((self.folder / "python" / "lib").glob("python3*")) / "site-packages"
        (own / "paddle.pth").write_text(sysconfig.get_path("purelib") + "\n")
        (self._bin / "pdtriage").symlink_to(Path(sys.executable).parent / "pdtriage")
        options = ["--no-index", "--force-reinstall", "--find-links", str(self.folder / "wheels")]
        pip = [str(self._bin / "python"), "-m", "pip", "install", "-q", "--no-deps"]
        subprocess.run([*pip, *options, "paddlepaddle"], check=True)

    def _make_wheels(self) -> None:
        (self.folder / "wheels").mkdir()
        for name in PACKAGES:
            info = f"{name}-9.9.dist-info"
            with ZipFile(self.folder / "wheels" / f"{name}-9.9-py3-none-any.whl", "w") as wheel:
                wheel.writestr(
                    f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 9.9\n"
                )
                wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n")
                wheel.writestr(f"{info}/RECORD", "")
                if name == "pyflakes":
                    wheel.writestr("pyflakes/__main__.py", "print('undefined name sub_layer')")

    def _network(self) -> list[str]:
        for alone in _ALONE if shutil.which("unshare") and shutil.which("ip") else ():
            tried = subprocess.run([*alone, "ip", "link"], capture_output=True, check=False)
            if tried.returncode == 0:
                return alone
        pytest.skip("needs a network and mounts of its own (unshare)")
