"""Memory, shared memory and disks that run out."""

from __future__ import annotations

from .fault import ANY_STEP, Fault

HOST = ("memory.host",)

FAULTS = (
    Fault(
        "memory-numpy",
        "memory",
        HOST,
        "np.ones(3 << 48)",
        "Unable to allocate 6.00 PiB",
    ),
    Fault(
        "memory-plain",
        "memory",
        HOST,
        'raise MemoryError("no room for the embedding table")',
        "MemoryError",
    ),
    Fault(
        "memory-errno12",
        "memory",
        HOST,
        "raise OSError(12, 'Cannot allocate memory')",
        "[Errno 12] Cannot allocate memory",
        moments=ANY_STEP,
    ),
    Fault(
        "memory-rlimit",
        "memory",
        HOST,
        "import resource\n"
        "size = int(open('/proc/self/statm').read().split()[0]) * 4096\n"
        "resource.setrlimit(resource.RLIMIT_AS, (size + (64 << 20), size + (64 << 20)))\n"
        "table = [bytearray(32 << 20) for _ in range(64)]",
        "MemoryError",
        moments=ANY_STEP,
    ),
    Fault(
        "memory-paddle",
        "memory",
        HOST,
        "paddle.ones([1 << 18, 1 << 18], dtype='float64')",
        "Fail to alloc memory of 549755813888",
        moments=ANY_STEP,
    ),
    Fault(
        "memory-cgroup",
        "memory",
        ("memory.host", "external.kill", "unknown"),
        "table = []\nwhile True:\n    table.append(bytearray(b'x') * (64 << 20))",
        moments=("middle",),
        memory_mb=2600,
        exits=(137,),
        weight=5,
    ),
    Fault(
        "shm-full",
        "storage",
        ("memory.shm", "data.worker", "storage.disk"),
        key="DataLoader worker",
        top="SAMPLE = 400000\n",
        moments=("first",),
        workers=1,
        who="all",
        mounts={"/dev/shm": "size=2m"},
        exits=(1, 135, 134),
    ),
    Fault(
        "disk-full",
        "storage",
        ("storage.disk",),
        "with open('visual/scalars.csv', 'a') as scalars:\n"
        "    scalars.write('step,loss,lr\\n' * 90000)",
        "No space left on device",
        moments=(*ANY_STEP, "evaluation"),
        mounts={"visual": "size=256k"},
    ),
    Fault(
        "disk-full-save",
        "checkpoint",
        ("checkpoint", "storage.disk"),
        "paddle.save({'weights': paddle.ones([1 << 18])}, 'visual/model.pdparams')",
        "",
        moments=("save", "middle"),
        mounts={"visual": "size=256k"},
        exits=(1, 134),
    ),
    Fault(
        "read-only",
        "storage",
        ("storage.disk",),
        "raise OSError(30, 'Read-only file system', '/srv/output/metrics.txt')",
        "Read-only file system",
        moments=(*ANY_STEP, "evaluation"),
    ),
    Fault(
        "quota",
        "storage",
        ("storage.disk",),
        "raise OSError(122, 'Disk quota exceeded', '/home/user/output/events.log')",
        "Disk quota exceeded",
        moments=(*ANY_STEP, "evaluation"),
    ),
    Fault(
        "file-size-limit",
        "storage",
        ("storage.disk", "checkpoint"),
        "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))\n"
        "with open('scalars.bin', 'wb') as scalars:\n    scalars.write(bytes(4 << 20))",
        "File too large",
        moments=(*ANY_STEP, "evaluation"),
    ),
    Fault(
        "output-permission",
        "storage",
        ("storage.disk",),
        "raise PermissionError(13, 'Permission denied', '/srv/output/logs/scalars.csv')",
        "Permission denied: '/srv/output",
        moments=("before-init", *ANY_STEP, "evaluation"),
    ),
    Fault(
        "checkpoint-shape",
        "checkpoint",
        ("checkpoint", "code.operator", "code.python"),
        "print('loading checkpoint output/best/model.pdparams', flush=True)\n"
        "raise ValueError('[linear_0.w_0] shape [8, 16] in the checkpoint does not match [8, 32]')",
        "in the checkpoint does not match",
        moments=("init",),
    ),
    Fault(
        "checkpoint-pickle",
        "checkpoint",
        ("checkpoint",),
        "os.makedirs('output/last', exist_ok=True)\n"
        "open('output/last/model.pdopt', 'wb').close()\npaddle.load('output/last/model.pdopt')",
        "Error",
        moments=("init", "before-init"),
    ),
    Fault(
        "checkpoint-missing",
        "checkpoint",
        ("checkpoint",),
        "paddle.load('output/best_model/model.pdparams')",
        "(output/best_model/model.pdparams) to load model not exists",
        moments=("before-init", "init"),
    ),
    Fault(
        "checkpoint-missing-all",
        "checkpoint",
        ("checkpoint",),
        "paddle.load('output/best_model/model.pdparams')",
        "(output/best_model/model.pdparams) to load model not exists",
        moments=("before-init", "init"),
        who="all",
    ),
    Fault(
        "checkpoint-corrupt",
        "checkpoint",
        ("checkpoint",),
        "paddle.save({'weights': paddle.ones([4096])}, 'output/latest/model.pdparams')\n"
        "os.truncate('output/latest/model.pdparams', 300)\n"
        "print('resume from output/latest/model.pdparams', flush=True)\n"
        "paddle.load('output/latest/model.pdparams')",
        "output/latest/model.pdparams",
        moments=("init",),
    ),
    Fault(
        "checkpoint-keys",
        "checkpoint",
        ("checkpoint", "code.python"),
        "state = {'epoch': 3}\nprint('resume from checkpoint output/epoch_3', flush=True)\n"
        "optimizer_state = state['optimizer']",
        "KeyError: 'optimizer'",
        moments=("init",),
    ),
    Fault(
        "checkpoint-save-folder",
        "checkpoint",
        ("checkpoint", "storage.disk"),
        "with open('/mnt/checkpoints/run7/model.pdopt', 'wb') as checkpoint:\n"
        "    checkpoint.write(b'0')",
        "/mnt/checkpoints/run7/model.pdopt",
        moments=("save",),
    ),
)
