"""Training data that cannot be read or used, and the loader's workers."""

from __future__ import annotations

from .fault import Fault

WORKER = ("data.worker", "data.format", "code.python")


def reading(name: str, categories: tuple[str, ...], sample: str, key: str, **more: object) -> Fault:
    return Fault(
        name,
        "data",
        categories,
        key=key,
        sample=sample,
        moments=("first", "middle", "middle"),
        **more,  # type: ignore[arg-type]
    )


FAULTS = (
    reading(
        "data-missing",
        ("data.io",),
        'return np.load(f"/data/train/shard-{index:05d}.npy"), np.int64(0)',
        "No such file or directory: '/data/train/shard-",
    ),
    reading(
        "data-errno5",
        ("data.io",),
        'with open("/proc/self/mem", "rb") as image:\n    image.read(16)',
        "[Errno 5] Input/output error",
    ),
    reading(
        "data-permission",
        ("data.io",),
        'raise PermissionError(13, "Permission denied", f"/data/train/part-{index:05d}.bin")',
        "Permission denied: '/data/train/part-",
    ),
    reading(
        "data-stale",
        ("data.io",),
        'raise OSError(116, "Stale file handle", f"/mnt/nfs/train/{index:06d}.jpg")',
        "Stale file handle",
    ),
    reading(
        "data-truncated-npz",
        ("data.io", "data.format", "data.worker"),
        'with open(f"shard-{index}.npz", "wb") as shard:\n    shard.write(b"PK\\x03\\x04" * 9)\n'
        'np.load(f"shard-{index}.npz")["features"]',
        "BadZipFile",
    ),
    reading(
        "data-json",
        ("data.format", "data.io", *WORKER),
        'json.loads(\'{"label": 3, "path": \')',
        "JSONDecodeError",
    ),
    reading(
        "data-number",
        ("data.format", *WORKER),
        'float("3,14")',
        "could not convert string to float: '3,14'",
    ),
    reading(
        "data-label-range",
        ("data.format", "code.operator"),
        'return np.random.rand(8).astype("float32"), np.int64(80)',
        "label value should less than",
    ),
    reading(
        "data-shape",
        ("data.format", "data.worker", "code.python", "code.operator"),
        'return np.random.rand(5).astype("float32"), np.int64(0)',
        "Error",
    ),
    reading(
        "data-augmentation",
        WORKER,
        'raise ValueError("crop size must be smaller than the image, got 640 and 512")',
        "crop size must be smaller",
    ),
    reading(
        "data-key",
        WORKER,
        'print({"boxes": 1}["segmentation"])',
        "KeyError: 'segmentation'",
    ),
    reading(
        "data-pickle",
        ("data.format", "data.io", *WORKER),
        'import pickle\npickle.loads(b"\\x80\\x04K")',
        "pickle data was truncated",
    ),
    reading(
        "data-unicode",
        ("data.format", *WORKER),
        'b"caf\\xe9 7".decode("utf-8")',
        "codec can't decode byte 0xe9",
    ),
    reading(
        "data-gzip",
        ("data.io", "data.format", "data.worker"),
        'import gzip\ngzip.decompress(b"not packed at all")',
        "Not a gzipped file",
    ),
    reading(
        "data-image",
        ("data.format", "data.io", *WORKER),
        'raise OSError(f"image file is truncated ({index} bytes not processed)")',
        "image file is truncated",
    ),
    reading(
        "data-unidentified",
        ("data.format", "data.io", *WORKER),
        'import io\nfrom PIL import Image\nImage.open(io.BytesIO(b"not an image"))',
        "cannot identify image file",
    ),
    reading(
        "data-none",
        ("data.format", *WORKER),
        'image = None\nimage = image.astype("float32")',
        "'NoneType' object has no attribute 'astype'",
    ),
    reading(
        "data-remote-reset",
        ("data.io", "data.worker"),
        "raise ConnectionResetError(104, 'Connection reset by peer')",
        "Connection reset by peer",
    ),
    reading(
        "data-remote-timeout",
        ("data.io", "data.worker"),
        'raise TimeoutError("reading s3://train/part-00017 timed out")',
        "part-00017 timed out",
    ),
    reading(
        "data-is-directory",
        ("data.io", "data.worker"),
        'open("/tmp")',
        "Is a directory",
    ),
    reading(
        "data-short-read",
        ("data.format", "data.io", *WORKER),
        'np.frombuffer(b"123", dtype="float32")',
        "buffer size must be a multiple of element size",
    ),
    Fault(
        "worker-killed",
        "loader",
        ("data.worker", "memory.host", "external.kill"),
        sample="os.kill(os.getpid(), 9)",
        key="is killed by signal",
        moments=("first", "middle", "middle"),
        workers=1,
    ),
    Fault(
        "worker-exits",
        "loader",
        ("data.worker",),
        sample="os._exit(5)",
        key="workers exit unexpectedly",
        moments=("first", "middle", "middle"),
        workers=1,
    ),
    Fault(
        "worker-segfault",
        "loader",
        ("data.worker", "code.crash"),
        sample="import ctypes\nctypes.string_at(0)",
        key="DataLoader",
        moments=("first", "middle", "middle"),
        workers=1,
    ),
    Fault(
        "worker-import",
        "loader",
        ("code.import", "data.worker"),
        sample="import albumentations_next",
        key="No module named 'albumentations_next'",
        moments=("first", "middle", "middle"),
        workers=1,
    ),
    Fault(
        "worker-memory",
        "loader",
        ("memory.host", "data.worker", "code.python"),
        sample="np.ones(1 << 50)",
        # Paddle cannot raise numpy's exception again; this is what its own mistake says.
        key="_ArrayMemoryError",
        moments=("first", "middle", "middle"),
        workers=1,
    ),
)
