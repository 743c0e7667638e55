"""Parameter server jobs."""

from ..scenario import Launch, Scenario, Truth

MODULES = ("ps_roles.py",)

SCENARIOS = (
    Scenario(
        "ps-trainer-fails-legacy",
        "trainer 1 of 2 meets a malformed sample; the servers are ended when the trainers are gone",
        Truth(
            "failed",
            "code.python",
            also_ok=("data.format",),
            culprit_roles=("trainer.1",),
            key_line="ValueError: slot 'user_id' has 3 values, expected 1",
        ),
        (
            Launch(
                ranks=0,
                launcher="legacy",
                script="ps_trainer_fails.py",
                modules=MODULES,
                flags=("--server_num", "2", "--worker_num", "2"),
            ),
        ),
    ),
    Scenario(
        "ps-server-dies-legacy",
        "server 1 of 2 fails, then the trainers cannot push any more",
        Truth(
            "failed",
            "ps.server",
            also_ok=("code.python",),
            culprit_roles=("server.1",),
            victim_ranks=(0, 1, 2),
            key_line="RuntimeError: embedding table is full: 1048576 of 1048576 rows",
        ),
        (
            Launch(
                ranks=0,
                launcher="legacy",
                script="ps_server_dies.py",
                modules=MODULES,
                flags=("--server_num", "2", "--worker_num", "3"),
            ),
        ),
    ),
    Scenario(
        "ps-trainer-fails",
        "trainer 1 of 2 meets a malformed sample; the launcher counts servers first",
        Truth(
            "failed",
            "code.python",
            also_ok=("data.format",),
            culprit_roles=("trainer.1",),
            victim_ranks=(0,),
            key_line="ValueError: slot 'user_id' has 3 values, expected 1",
        ),
        (
            Launch(
                ranks=0,
                modules=MODULES,
                flags=("--server_num", "2", "--trainer_num", "2"),
            ),
        ),
    ),
    Scenario(
        "ps-server-dies",
        "server 1 of 2 fails, then the trainers cannot push any more",
        Truth(
            "failed",
            "ps.server",
            also_ok=("code.python",),
            culprit_roles=("server.1",),
            victim_ranks=(0, 1),
            key_line="RuntimeError: embedding table is full: 1048576 of 1048576 rows",
        ),
        (
            Launch(
                ranks=0,
                modules=MODULES,
                flags=("--server_num", "2", "--trainer_num", "2"),
            ),
        ),
    ),
    Scenario(
        "ps-success-legacy",
        "two trainers and a server come to their end",
        Truth("succeeded"),
        (
            Launch(
                ranks=0,
                launcher="legacy",
                script="ps_success.py",
                modules=MODULES,
                flags=("--server_num", "1", "--worker_num", "2"),
            ),
        ),
    ),
    Scenario(
        "ps-compatible-mode",
        "--worker_num makes the new launcher hand over to the legacy one; trainer 1 fails",
        Truth(
            "failed",
            "code.python",
            also_ok=("data.format",),
            culprit_roles=("trainer.1",),
            key_line="ValueError: slot 'user_id' has 3 values, expected 1",
        ),
        (
            Launch(
                script="ps_trainer_fails.py",
                modules=MODULES,
                entry=(
                    *("-m", "paddle.distributed.launch"),
                    *("--server_num", "1", "--worker_num", "3", "train.py"),
                ),
            ),
        ),
    ),
    Scenario(
        "ps-server-killed-legacy",
        "server 0 of 2 is killed; the launcher sees trainers that ended, and calls it done",
        Truth(
            "failed",
            "ps.server",
            also_ok=("external.kill", "memory.host"),
            culprit_roles=("server.0",),
            victim_ranks=(1,),
        ),
        (
            Launch(
                ranks=0,
                launcher="legacy",
                script="ps_server_killed.py",
                modules=MODULES,
                flags=("--server_num", "2", "--worker_num", "2"),
            ),
        ),
    ),
)
