"""Training data that cannot be read, decoded or handed over."""

from ..scenario import Launch, Scenario, Truth

SCENARIOS = (
    Scenario(
        "data-errno5-worker",
        "a DataLoader worker of rank 1 gets EIO from the kernel while reading a sample",
        Truth(
            "failed",
            "data.io",
            culprit_ranks=(1,),
            victim_ranks=(0, 2),
            key_line="OSError: [Errno 5] Input/output error",
        ),
        (Launch(ranks=3),),
    ),
    Scenario(
        "data-errno5-inline",
        "rank 1 reads in the training process itself and gets EIO",
        Truth(
            "failed",
            "data.io",
            culprit_ranks=(1,),
            victim_ranks=(0,),
            key_line="OSError: [Errno 5] Input/output error",
        ),
        (Launch(launcher="legacy"),),
    ),
    Scenario(
        "data-missing-file",
        "rank 2 of 4 looks for a shard that is not there",
        Truth(
            "failed",
            "data.io",
            culprit_ranks=(2,),
            victim_ranks=(0, 1, 3),
            key_line="No such file or directory: '/data/train/shard-00016.npy'",
        ),
        (Launch(ranks=4),),
    ),
)
