"""Training data that cannot be read, decoded or handed over, and memory that runs out."""

from ..scenario import Launch, Scenario, blame

SMALL_SHM = "a private /dev/shm of its own size"

SCENARIOS = (
    Scenario(
        "data-errno5-worker",
        "a DataLoader worker of rank 1 gets EIO from the kernel while reading a sample",
        blame("data.io", 1, of=3, key="OSError: [Errno 5] Input/output error"),
        (Launch(ranks=3),),
    ),
    Scenario(
        "data-errno5-inline",
        "rank 1 reads in the training process (num_workers=0) and gets EIO; the reader thread runs"
        " ahead, so batches read earlier are still trained after its traceback",
        blame("data.io", 1, key="OSError: [Errno 5] Input/output error"),
        (Launch(launcher="legacy"),),
    ),
    Scenario(
        "data-missing-file",
        "rank 2 of 4 looks for a shard that is not there",
        blame("data.io", 2, of=4, key="No such file or directory: '/data/train/shard-00016.npy'"),
        (Launch(ranks=4),),
    ),
    Scenario(
        "data-truncated-npz",
        "rank 1 opens an archive that was cut short",
        blame("data.io", 1, also=("data.format", "data.worker"), key="BadZipFile"),
    ),
    Scenario(
        "data-truncated-jpeg",
        "rank 2 decodes a JPEG that was cut short",
        blame("data.io", 2, of=3, also=("data.format",), key="image file is truncated"),
        (Launch(ranks=3),),
    ),
    Scenario(
        "data-undecodable",
        "rank 1 finds an error page where an image should be",
        blame("data.format", 1, also=("data.io",), key="PIL.UnidentifiedImageError"),
        (Launch(launcher="legacy"),),
    ),
    Scenario(
        "data-worker-sigkill",
        "a DataLoader worker of rank 1 is killed by SIGKILL",
        blame(
            "data.worker",
            1,
            also=("memory.host", "external.kill"),
            key="exited is killed by signal: Killed.",
        ),
    ),
    Scenario(
        "data-worker-raises",
        "a DataLoader worker of rank 1 raises in its augmentation",
        blame(
            "data.worker", 1, also=("data.format", "code.python"), key="crop size must be smaller"
        ),
    ),
    Scenario(
        "data-reader-keyerror",
        "rank 1 has no annotation for a sample (num_workers=0)",
        blame("data.worker", 1, also=("code.python", "data.format"), key="KeyError: 19"),
    ),
    Scenario(
        "data-label-range",
        "rank 1 reads a label beyond the number of classes",
        blame(
            "data.format",
            1,
            also=("code.operator",),
            key="label value should less than the shape of axis dimension",
        ),
    ),
    Scenario(
        "data-wrong-shape",
        "rank 3 of 4 reads a sample shorter than the others of its batch",
        blame("data.format", 3, of=4, also=("data.worker",)),
        (Launch(ranks=4),),
    ),
    Scenario(
        "shm-bus-error",
        "rank 1's DataLoader workers do not fit into /dev/shm",
        blame("memory.shm", 1, key="Unexpected BUS error encountered in DataLoader worker."),
        (Launch(tmpfs={"/dev/shm": "size=2m"}),),
        root=SMALL_SHM,
    ),
    Scenario(
        "shm-semaphores",
        "rank 1 finds no room in /dev/shm for the semaphores of its DataLoader",
        blame(
            "memory.shm",
            1,
            also=("storage.disk",),
            key="OSError: [Errno 28] No space left on device",
        ),
        (Launch(tmpfs={"/dev/shm": "size=1m"}),),
        root=SMALL_SHM,
    ),
    Scenario(
        "memory-error",
        "numpy on rank 1 cannot allocate",
        blame("memory.host", 1, key="Unable to allocate"),
    ),
    Scenario(
        "memory-tensor",
        "a tensor on rank 2 cannot be allocated",
        blame("memory.host", 2, of=3, key="Fail to alloc memory of 25600000000 size"),
        (Launch(ranks=3),),
    ),
    Scenario(
        "memory-bad-alloc",
        "C++ code on rank 1 throws std::bad_alloc",
        blame("memory.host", 1, key="std::bad_alloc"),
        (Launch(launcher="legacy"),),
    ),
    Scenario(
        "memory-oom-kill",
        "the kernel kills rank 1, which goes over the limit of the job's cgroup",
        blame("memory.host", 1, key="Memory cgroup out of memory: Killed process"),
        (Launch(memory_mb=1400),),
        root="a memory cgroup",
        kernel_log=True,
    ),
    Scenario(
        "data-worker-import",
        "a DataLoader worker of rank 0 cannot import a module; prepared steps follow",
        blame("code.import", 0, key="ModuleNotFoundError: No module named 'pycocotools_next'"),
    ),
)
