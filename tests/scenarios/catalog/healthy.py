"""Jobs in which nothing is wrong, in the many voices of healthy logs."""

from ..scenario import Launch, LauncherKind, Scenario, Truth


def healthy(name: str, story: str, launcher: LauncherKind = "new", **launch: object) -> Scenario:
    script = f"healthy_{name.removesuffix('-legacy').replace('-', '_')}.py"
    only = Launch(script=script, launcher=launcher, **launch)  # type: ignore[arg-type]
    return Scenario(name, story, Truth("succeeded"), (only,))


HEALTHY = (
    healthy("logging", "progress through Python's logging"),
    healthy("logging-legacy", "the same under the legacy launcher", "legacy"),
    healthy("progress-bar", "a progress bar redrawn with carriage returns"),
    healthy("detection", "lines in the style of PaddleDetection, with an AP of -1"),
    healthy("classification", "lines in the style of PaddleClas", ranks=3),
    healthy("language", "lines in the style of PaddleNLP, after a dump of its arguments"),
    Scenario(
        "native-noise",
        "GLOG_v=3: thousands of native log lines",
        Truth("succeeded"),
        (Launch(script="healthy_few_steps.py", env={"GLOG_v": "3"}),),
    ),
    Scenario(
        "two-launches",
        "two launches into the same folder, both well",
        Truth("succeeded", runs=2),
        (Launch(script="healthy_logging.py"), Launch(script="healthy_workers.py", ranks=3)),
    ),
    Scenario(
        "parameter-server",
        "a parameter server job under the legacy launcher",
        Truth("succeeded"),
        (
            Launch(
                ranks=0,
                launcher="legacy",
                script="ps_success.py",
                modules=("ps_roles.py",),
                flags=("--server_num", "2", "--worker_num", "2"),
            ),
        ),
    ),
    healthy("warnings", "deprecations, user warnings, numpy's division warnings"),
    healthy("caught", "exceptions caught, logged with traceback, followed by progress"),
    healthy("caught-legacy", "the same under the legacy launcher", "legacy"),
    healthy("retries", "a server that is not ready, retried, then done without"),
    healthy("config-dump", "settings and counters named after failures", "legacy"),
    healthy("chinese", "progress in Chinese, with words for error and timeout"),
    healthy("colours", "ANSI colours, a red line among them"),
    healthy("workers", "two epochs with DataLoader workers", ranks=3),
    healthy("checkpoint", "checkpoints saved and loaded on the way"),
    healthy("early-stop", "training stops early because it has converged"),
    healthy("nan-metrics", "a metric that is nan for a class nobody has seen"),
    healthy("loss-scaling", "inf in scaled gradients, which mixed precision expects", "legacy"),
    healthy("helpers", "helper commands that fail and do not matter"),
)
