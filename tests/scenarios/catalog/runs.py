"""Jobs that go well, several launches into one folder, restarts, and parameter servers."""

import signal

from ..scenario import Launch, Scenario, Stop, Truth, blame

ELASTIC = ("--master", "etcd://127.0.0.1:2379", "--job_id", "ctr7", "--elastic_level", "1")
ELASTIC_LEGACY = Launch(
    launcher="legacy",
    script="elastic_exit_code.py",
    modules=("etcd3.py",),
    flags=("--elastic_server", "127.0.0.1:2379", "--job_id", "ctr8"),
    env={"PADDLE_ELASTIC_NP": "1", "PADDLE_ELASTIC_TIMEOUT": "5", "POD_IP": "127.0.0.1"},
)
WELL = Launch(script="healthy_run.py")
SEGFAULT = Launch(script="crash_segfault.py")

SCENARIOS = (
    Scenario("run-success", "two ranks train to the end", Truth("succeeded"), (WELL,)),
    Scenario(
        "run-success-legacy",
        "three ranks train to the end",
        Truth("succeeded"),
        (Launch(ranks=3, launcher="legacy", script="healthy_run.py"),),
    ),
    Scenario(
        "run-success-eight",
        "eight ranks train to the end",
        Truth("succeeded"),
        (Launch(ranks=8, script="healthy_run.py"),),
    ),
    Scenario(
        "run-eight-name-error",
        "rank 1 of 8 uses a name that does not exist",
        blame("code.python", 1, of=8, key="NameError: name 'learning_rate' is not defined"),
        (Launch(ranks=8, script="name_error.py"),),
    ),
    Scenario(
        "success-scary",
        "a healthy job whose log is full of alarming words and a traceback that was caught",
        Truth("succeeded"),
        (Launch(),),
    ),
    Scenario(
        "error-survived",
        "rank 1 skips a sample it could not read and goes on to the end",
        Truth("succeeded"),
        (Launch(launcher="legacy"),),
    ),
    Scenario(
        "runs-success-then-failure",
        "the first launch succeeds, rank 1 of the second segfaults",
        blame("code.crash", 1, runs=2),
        (WELL, SEGFAULT),
    ),
    Scenario(
        "runs-failure-then-success",
        "rank 1 of the first launch segfaults, the second succeeds",
        Truth("succeeded", runs=2),
        (SEGFAULT, WELL),
    ),
    Scenario(
        "runs-fewer-ranks",
        "four ranks of which the last fails, then two ranks of which rank 1 fails differently",
        blame("code.python", 1, runs=2, key="NameError: name 'learning_rate' is not defined"),
        (Launch(ranks=4, script="key_error.py"), Launch(script="name_error.py")),
    ),
    Scenario(
        "runs-three-legacy",
        "success, an import error, then rank 1 fails with a key nobody knows",
        blame("code.python", 1, runs=3, key="NameError: name 'learning_rate' is not defined"),
        (
            Launch(launcher="legacy", script="healthy_run.py"),
            Launch(launcher="legacy", script="import_all.py"),
            Launch(launcher="legacy", script="name_error.py"),
        ),
    ),
    Scenario(
        "runs-legacy-then-new",
        "the legacy launcher fails, the new one succeeds in the same folder",
        Truth("succeeded", runs=2),
        (Launch(launcher="legacy", script="name_error.py"), WELL),
    ),
    Scenario(
        "runs-interrupted-then-failure",
        "Ctrl-C, then rank 1 fails in its reader",
        blame(
            "data.worker",
            1,
            also=("data.format", "code.python"),
            runs=2,
            key="crop size must be smaller",
        ),
        (
            Launch(script="long_run.py", stop=Stop("step 4 ", signal.SIGINT)),
            Launch(script="data_worker_raises.py"),
        ),
    ),
    Scenario(
        "elastic-recovers",
        "rank 1 fails in the first attempt, the launcher restarts, the second attempt succeeds",
        Truth("succeeded", runs=2),
        (Launch(flags=ELASTIC, modules=("etcd3.py",)),),
    ),
    Scenario(
        "elastic-limit",
        "rank 1 fails in every attempt until no restart is left",
        blame(
            "code.python", 1, also=("elastic",), runs=3, key="lost connection to the feature store"
        ),
        (Launch(flags=(*ELASTIC, "--max_restart", "1"), modules=("etcd3.py",)),),
        limit=150,
    ),
    Scenario(
        "elastic-exit-code-legacy",
        "rank 1 leaves with exit code 101; the elastic launcher passes 101 on to its own parent",
        blame("elastic", 1, also=("unknown", "code.python"), key="job exit with code 101"),
        (ELASTIC_LEGACY,),
    ),
    Scenario(
        "elastic-restarted-legacy",
        "rank 1 leaves with exit code 101; started again from outside, the job succeeds",
        Truth("succeeded", runs=2),
        (ELASTIC_LEGACY, ELASTIC_LEGACY),
    ),
)
