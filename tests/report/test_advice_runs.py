"""Given forty recorded failures, when every command of their advice is pasted into a shell, then it
does what the advice says.

See `advice_room.py` for where, and for what stands in for cards, clusters and schedulers.
"""

from __future__ import annotations

import re

import pytest

from scripts.check_reports import commands_of
from tests.report.advice_room import ROOTS, Outcome, Room
from tests.report.test_coherence import COMPLAINTS, FAILED, SCENARIOS, report_of

NOT_HERE = ("command not found", "No module named")
WRITTEN_BY_PEOPLE = {
    "HOST:PORT": "127.0.0.1:6171",
    "主机:端口": "127.0.0.1:6171",
    "文件": "FILE",
    "任务号": "JOBID",
    "数据目录": "DATA",
}
"""Words in capitals or in Chinese are for people to replace; in the room some of them are names."""
WAITING = (r"--nnodes 2", r"free -h -s")
"""What goes on until somebody ends it: a launcher for its other node, a look every second."""
ANSWERS = {
    r"^sed -n|^tail -n": r"\S",
    r"^ls -ld? ": r"-rw|drwx|No such file",
    r"^readlink -f": r"^/",
    r"^find DATA": r"^DATA/empty\.npy$",
    r"^sha256sum": r"^[0-9a-f]{64}  ",
    r"xxd$": r"^00000000: ",
    r"^df ": r"Filesystem",
    r"^free": r"Mem:",
    r"^findmnt": r"OPTIONS",
    r"^ss -ltnp": r"127\.0\.0\.1:6070.*python",
    r"^ip -br addr": r"127\.0\.0\.1",
    r"^id$|; id$": r"uid=",
    r"^grep -c -w avx": r"^\d+$",
    r"^grep -rnI? .*(exit|get_rank|set_device|metric)": r"train\.py:\d+:",
    r"^grep -h \w+ log/envlog": r"^ +\d+ \w+: ",
    r"^dmesg": r"Killed|Xid|nfs|EXT4",
    r"^nvidia-smi -L": r"^GPU 0",
    r"used_memory": r"4711, python",
    r"^ulimit -n": r"^\d+$",
    r"pip install": r"Successfully installed|already satisfied",
    r"pip list": r"paddle",
    r"pip freeze": r"==",
    r"compiled_with_cuda": r"False$",
    r"run_check": r"installed successfully",
    r"^python train.py|faulthandler train": r"^trained$",
    r"^python -m pyflakes|&& python -m pyflakes": r"undefined name",
    r"launch --help": r"--nproc_per_node",
    r"^pdtriage run train": r"^trained$",
    r"^gdb": r"^No stack\.$",  # there was no crash
    r"launch --gpus": r"Device not found 0",  # there is no card
    r"launch --master": r"Waiting peer|etcd|master",
    r"^pdtriage stacks": r"no rank of a job runs here",
    r"^pdtriage analyze node0": r"KeyError: 7",
    r"^kubectl": r"OOMKilled",
    r"^sacct": r"TIMEOUT",
    r"^nc ": r"succeeded",
    r"^strings": r"GLIBCXX",
}
"""What a command says where the room has what it asks for."""
SILENT = re.compile(r"^(mkdir|export|mv|mount|ulimit -c|python -m compileall)\b.*")
MAY_FAIL = re.compile(
    r"stacks|--gpus 0,1|gdb|grep|ls -l|/sys/fs/cgroup"  # nothing runs or crashed, no card, no limit
)


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Room:
    return Room(tmp_path_factory.mktemp("room"))


def all_commands() -> list[str]:
    """The commands of all recorded failures."""
    failures = [name for name in FAILED if report_of(name).root_causes]
    assert len(failures) >= 40
    return [
        *dict.fromkeys(command for name in failures for command in commands_of(report_of(name)))
    ]


def test_every_command_does_what_the_advice_says(room: Room) -> None:
    for case in SCENARIOS.iterdir():
        (room.folder / case.name).symlink_to(case)
    commands = all_commands()
    assert len(commands) >= 60
    wrong = [
        f"{command}: {problem}\n{outcome.text[-600:]}"
        for command in commands
        for outcome in [room.paste(pasted(command), seconds=15 if is_endless(command) else 300)]
        if (problem := problem_of(command, outcome, room))
    ]
    assert not wrong, "\n\n".join(wrong)


def pasted(command: str) -> str:
    for word, chosen in WRITTEN_BY_PEOPLE.items():
        command = command.replace(word, chosen)
    return command


def is_endless(command: str) -> bool:
    return any(re.search(words, command) for words in WAITING)


def problem_of(command: str, outcome: Outcome, room: Room) -> str | None:
    """What is not as the advice promises, if anything."""
    told = outcome.text.replace(str(room.folder), "")
    if any(words in told for words in (*COMPLAINTS, *NOT_HERE)):
        return "no shell runs it here"
    if is_endless(command):
        return None if outcome.code in (124, 137) else "it ended"
    if outcome.code and not MAY_FAIL.search(command):
        return f"it failed with {outcome.code}"
    if SILENT.match(command) and "&&" not in command:
        return "it should say nothing" if told.strip() else None
    for of, said in ANSWERS.items():
        if re.search(of, command) and not re.search(said, told, re.MULTILINE):
            return f"it does not say {said}"
    return None


def test_the_room_notices_a_command_that_is_wrong(room: Room) -> None:
    wrong = ("nvidia-smi --list", "dmesg --human -Z", "sacct JOBID", "grep --inclood '*.py' x .")
    for command in (*wrong, "python -m pip instal x", "python -c 'import none_such'"):
        assert problem_of(command, room.paste(command), room), command


def test_a_folder_the_advice_makes_is_there(room: Room) -> None:
    room.paste("mkdir -p $(dirname /mnt/checkpoints/run8/optimizer.pkl)")
    assert (room.folder / "mnt" / "checkpoints" / "run8").is_dir()
    assert ROOTS[1] == "/mnt/"
