"""Checkpoints and disks."""

from ..scenario import Launch, Scenario, blame

OWN_DISK = "a file system of its own size"

SCENARIOS = (
    Scenario(
        "checkpoint-readonly",
        "rank 1 saves to a read-only file system",
        blame("checkpoint", 1, also=("storage.disk",), key="[Errno 30] Read-only file system"),
        (Launch(script="checkpoint_save.py", tmpfs={"output": "size=1m,ro"}),),
        root="a read-only mount",
    ),
    Scenario(
        "checkpoint-disk-full",
        "rank 1 saves to a full file system",
        blame("checkpoint", 1, also=("storage.disk",), key="[Errno 28] No space left on device"),
        (Launch(script="checkpoint_save.py", tmpfs={"output": "size=64k"}),),
        root=OWN_DISK,
    ),
    Scenario(
        "checkpoint-save-missing",
        "rank 1 saves to a mount that is not there",
        blame("checkpoint", 1, also=("storage.disk",), key="/mnt/checkpoints/run7/optimizer.pkl"),
        (Launch(launcher="legacy"),),
    ),
    Scenario(
        "checkpoint-load-missing",
        "rank 2 of 3 does not find the checkpoint to resume from",
        blame("checkpoint", 2, of=3, key="output/best_model/model.pdparams"),
        (Launch(ranks=3),),
    ),
    Scenario(
        "checkpoint-load-corrupt",
        "rank 1 resumes from a file that was cut short",
        blame("checkpoint", 1, key="`paddle.load` can not parse the file"),
    ),
    Scenario(
        "disk-full",
        "rank 1 writes its scalars to a full file system",
        blame("storage.disk", 1, key="OSError: [Errno 28] No space left on device"),
        (Launch(tmpfs={"visual": "size=64k"}),),
        root=OWN_DISK,
    ),
    Scenario(
        "permission-denied",
        "rank 2 of 3 may not write its metrics",
        blame(
            "storage.disk",
            2,
            of=3,
            key="PermissionError: [Errno 13] Permission denied: 'train_metrics.json'",
        ),
        (Launch(ranks=3),),
        root="rank 2 gives up its rights",
    ),
)
