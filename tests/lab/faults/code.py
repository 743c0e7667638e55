"""Mistakes of the training script: exceptions of all shapes, imports, operators, numbers."""

from __future__ import annotations

from .fault import ANY_STEP, Fault

PYTHON = ("code.python",)


def exception(name: str, key: str, at: str, **more: object) -> Fault:
    return Fault(name, "exception", PYTHON, at, key, **more)  # type: ignore[arg-type]


FAULTS = (
    exception(
        "value-error",
        "warmup_steps must be smaller than total_steps",
        'raise ValueError("warmup_steps must be smaller than total_steps, got 500 and 400")',
    ),
    exception("key-error", "KeyError: 'Optimizer'", 'print({"Global": 1}["Optimizer"])'),
    exception(
        "type-error",
        "unsupported operand type(s) for +: 'int' and 'NoneType'",
        "total = 1 + None",
    ),
    exception("name-error", "name 'learning_rate' is not defined", "print(learning_rate)"),
    exception(
        "attribute-error",
        "'NoneType' object has no attribute 'shape'",
        'cached = {}.get("features")\nprint(cached.shape)',
    ),
    exception(
        "index-error", "list index out of range", "boundaries = [1, 2]\nprint(boundaries[RANK + 9])"
    ),
    exception(
        "assertion",
        "global batch size must be divisible",
        'assert 6 % 4 == 0, "global batch size must be divisible by micro batch size"',
    ),
    exception(
        "custom-chinese",
        "样本不足",
        'raise 样本不足("只剩 3 个样本，至少需要 4 个")',
        top="class 样本不足(Exception):\n    pass\n",
    ),
    exception(
        "local-class",
        "budget of this experiment is spent",
        'class Stop(Exception):\n    pass\nraise Stop("the budget of this experiment is spent")',
    ),
    exception(
        "bare-custom",
        "UnexpectedSchedule",
        "raise UnexpectedSchedule",
        top="class UnexpectedSchedule(Exception):\n    pass\n",
    ),
    exception(
        "chained-from",
        "cannot build the learning rate schedule",
        'try:\n    float("1e-3,warmup")\nexcept ValueError as problem:\n'
        '    raise RuntimeError("cannot build the learning rate schedule") from problem',
    ),
    exception(
        "chained-while-handling",
        "cleanup failed, too",
        'try:\n    int("x7")\nexcept ValueError:\n    raise RuntimeError("cleanup failed, too")',
    ),
    exception(
        "thread",
        "no transform named 'RandomErase'",
        "import threading\n"
        "def work():\n"
        "    raise LookupError(\"no transform named 'RandomErase'\")\n"
        "thread = threading.Thread(target=work, name='augment')\n"
        "thread.start()\nthread.join()\nsys.exit(1)",
    ),
    exception(
        "group",
        "shard 2 has no manifest",
        'raise ExceptionGroup("fetch", [ValueError("shard 2 has no manifest"), '
        'KeyError("shard 5")])',
    ),
    exception(
        "base-exception",
        "quota of the queue is used up",
        'raise QueueClosed("the quota of the queue is used up")',
        top="class QueueClosed(BaseException):\n    pass\n",
    ),
    exception("stop-iteration", "StopIteration", "next(iter([]))"),
    exception(
        "recursion",
        "maximum recursion depth exceeded",
        "def depth(n):\n    return 1 + depth(n + 1)\ndepth(0)",
    ),
    exception(
        "not-implemented",
        "NotImplementedError",
        'raise NotImplementedError("mixed precision level O3")',
    ),
    exception(
        "multi-line-message",
        "configuration is not valid",
        'raise ValueError("the configuration is not valid:\\n  - Arch.name: required\\n'
        '  - Loss.weight: must be positive\\nerror count: 2")',
    ),
    exception(
        "refused-in-user-code",
        "urlopen error [Errno 111] Connection refused",
        'import urllib.request\nurllib.request.urlopen("http://127.0.0.1:9/metrics", timeout=3)',
    ),
    exception(
        "helper-command",
        "returned non-zero exit status",
        "import subprocess\nsubprocess.run(['ls', '/no/such/folder'], check=True)",
    ),
    exception(
        "timeout-in-user-code",
        "feature store did not answer",
        'raise TimeoutError("feature store did not answer in 30 s")',
    ),
    exception("empty-assert", "AssertionError", "assert RANK < 0"),
    exception("no-message", "RuntimeError", "raise RuntimeError()"),
    exception(
        "warning-as-error",
        "UserWarning: the schedule was changed",
        'import warnings\nwarnings.simplefilter("error")\n'
        'warnings.warn("the schedule was changed after it was used")',
    ),
    exception(
        "future",
        "division by zero",
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(1) as pool:\n    pool.submit(lambda: 1 / 0).result()",
    ),
    exception(
        "boxed-message",
        "vocabulary has 0 entries",
        'raise RuntimeError("\\n" + "=" * 60 + "\\n  vocabulary has 0 entries\\n" + "=" * 60)',
    ),
    exception(
        "custom-error-code",
        "StageError: [E1042]",
        'raise StageError("[E1042] stage 3 has no successor")',
        top="class StageError(RuntimeError):\n    pass\n",
    ),
    exception(
        "process-pool",
        "no tokenizer for language 'xx'",
        "from multiprocessing import get_context\n"
        "with get_context('fork').Pool(1) as pool:\n    pool.map(tokenize, ['xx'])",
        top="def tokenize(language):\n"
        "    raise LookupError(f'no tokenizer for language {language!r}')\n",
    ),
    exception(
        "asyncio",
        "manifest has no field 'shards'",
        "import asyncio\n"
        "async def fetch():\n"
        "    await asyncio.sleep(0)\n"
        "    raise LookupError(\"manifest has no field 'shards'\")\n"
        "async def fetch_all():\n    await asyncio.gather(fetch(), asyncio.sleep(0.1))\n"
        "asyncio.run(fetch_all())",
    ),
    exception(
        "from-none",
        "unknown scheduler 'cosin'",
        "try:\n    {}['cosin']\nexcept KeyError:\n"
        "    raise ValueError(\"unknown scheduler 'cosin', known are cosine and step\") from None",
    ),
    exception(
        "with-notes",
        "temperature must be positive",
        "problem = ValueError('temperature must be positive')\n"
        "problem.add_note('while reading configs/distill.yml')\n"
        "problem.add_note('error: see the section Loss')\nraise problem",
    ),
    exception(
        "peer-words",
        "Connection reset by peer",
        "raise ConnectionResetError(104, 'Connection reset by peer')",
    ),
    exception(
        "peer-words-wrapped",
        "cannot report to the experiment server",
        "try:\n    raise BrokenPipeError(32, 'Broken pipe')\n"
        "except OSError as problem:\n"
        "    raise RuntimeError('cannot report to the experiment server') from problem",
    ),
    exception(
        "deep-stack",
        "depth 30 is not supported",
        "def level(n):\n"
        "    if n == 30:\n        raise ValueError(f'depth {n} is not supported')\n"
        "    return level(n + 1) or level(n)\nlevel(0)",
    ),
    exception(
        "long-message",
        "the following keys are not known",
        "raise KeyError('the following keys are not known: ' + ', '.join(\n"
        "    f'backbone.stage{n}.conv.weight' for n in range(200)))",
    ),
    Fault(
        "too-many-files",
        "exception",
        ("storage.disk", *PYTHON),
        "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))\n"
        "held = [open('/dev/null') for _ in range(100)]",
        "Too many open files",
        moments=ANY_STEP,
    ),
    exception(
        "thread-leaves",
        "watchdog of the queue lost its lease",
        "import threading, traceback\n"
        "def watch():\n"
        "    try:\n        raise RuntimeError('watchdog of the queue lost its lease')\n"
        "    except RuntimeError:\n        traceback.print_exc()\n        os._exit(1)\n"
        "threading.Thread(target=watch, name='lease').start()\ntime.sleep(5)",
    ),
    exception(
        "type-error-call",
        "got an unexpected keyword argument 'use_ema'",
        "def schedule(rate):\n    return rate\nschedule(0.1, use_ema=True)",
    ),
    exception(
        "unbound-local",
        "cannot access local variable 'weight_decay'",
        "def decay():\n    if RANK > 99:\n        weight_decay = 0.1\n    return weight_decay\n"
        "decay()",
    ),
    exception("zero-division", "division by zero", "share = 1 / (RANK - RANK)"),
    exception(
        "numpy-broadcast",
        "operands could not be broadcast together",
        "np.ones((3, 4)) + np.ones((5, 6))",
    ),
    exception(
        "numpy-index",
        "is out of bounds for axis 0 with size 4",
        "np.arange(4)[RANK + 11]",
    ),
    exception(
        "yaml-like",
        "mapping values are not allowed here",
        "raise ConfigError('mapping values are not allowed here\\n"
        '  in "configs/base.yml", line 12, column 14\')',
        top="class ConfigError(Exception):\n    pass\n",
    ),
    exception(
        "validation",
        "2 validation errors for TrainConfig",
        "raise ValueError('2 validation errors for TrainConfig\\nlr\\n  Input should be a valid "
        "number [type=float_parsing, input_value=fast]\\nepochs\\n  Field required')",
    ),
    exception(
        "subprocess-timeout",
        "TimeoutExpired",
        "import subprocess\nsubprocess.run(['sleep', '5'], timeout=0.2)",
    ),
    exception(
        "dying-words-first",
        "gradient accumulation is not divisible",
        "print('Exception caught, shutting down the writer threads', flush=True)\n"
        "raise RuntimeError('gradient accumulation is not divisible')",
    ),
    Fault(
        "system-exit-raised",
        "exit",
        ("code.python", "unknown"),
        'raise SystemExit("no card is free in this queue")',
        "no card is free in this queue",
    ),
    Fault(
        "at-exit",
        "exit",
        ("code.python", "unknown"),
        "import atexit\n"
        "def flush():\n"
        "    print('Error in flush: could not flush the metrics: store is closed', flush=True)\n"
        "    sys.stdout.flush()\n    os._exit(4)\n"
        "atexit.register(flush)",
        "could not flush the metrics",
        moments=("after",),
        exits=(4,),
    ),
    Fault(
        "import-all",
        "import",
        ("code.import",),
        "import paddleseg_extras",
        "No module named 'paddleseg_extras'",
        moments=("import",),
        who="all",
    ),
    Fault(
        "import-one",
        "import",
        ("code.import",),
        "import pycocotools_next",
        "No module named 'pycocotools_next'",
        moments=("import", "before-init", "init", "middle", "evaluation"),
    ),
    Fault(
        "import-symbol",
        "import",
        ("code.import",),
        "from paddle.nn.functional import deformable_attention",
        "cannot import name 'deformable_attention'",
        moments=("before-init", "init", "first"),
    ),
    Fault(
        "import-symbol-all",
        "import",
        ("code.import",),
        "from numpy import float128x",
        "cannot import name 'float128x'",
        moments=("import",),
        who="all",
    ),
    Fault(
        "import-in-package",
        "import",
        ("code.import",),
        "import importlib\nimportlib.import_module('paddle.vision.ops_extended')",
        "No module named 'paddle.vision.ops_extended'",
        moments=("import", "before-init", "init"),
    ),
    Fault(
        "import-attribute",
        "import",
        ("code.import", "code.python"),
        "paddle.nn.FlashLinear(4, 4)",
        "has no attribute 'FlashLinear'",
        moments=("init", "first"),
    ),
    Fault(
        "shared-object",
        "import",
        ("code.import", "device.library", "code.python"),
        "import ctypes\nctypes.CDLL('libcustom_ops.so')",
        "libcustom_ops.so: cannot open shared object file",
        moments=("import", "before-init"),
    ),
    Fault(
        "op-shape",
        "operator",
        ("code.operator",),
        "paddle.matmul(paddle.ones([6, 7]), paddle.ones([8, 9]))",
        "K_lhs:7 != K_rhs:8",
        moments=ANY_STEP,
    ),
    Fault(
        "op-dtype",
        "operator",
        ("code.operator",),
        "paddle.gather(paddle.ones([4, 2]), paddle.to_tensor([0.5, 1.0]))",
        "(Index) of gather must be",
        moments=(*ANY_STEP, "evaluation"),
    ),
    Fault(
        "op-kernel",
        "operator",
        ("code.operator",),
        "paddle.nn.functional.relu(paddle.to_tensor([True, False]))",
        "is not registered",
        moments=ANY_STEP,
    ),
    Fault(
        "op-concat",
        "operator",
        ("code.operator",),
        "paddle.concat([paddle.ones([2, 3]), paddle.ones([3, 4])], axis=0)",
        "input[1]'s shape = [3, 4]",
        moments=ANY_STEP,
    ),
    Fault(
        "op-reshape",
        "operator",
        ("code.operator",),
        "paddle.reshape(paddle.ones([2, 3]), [4, 4])",
        "in ReshapeOp is invalid",
        moments=(*ANY_STEP, "evaluation"),
    ),
    Fault(
        "op-load-state",
        "operator",
        ("code.operator", "checkpoint", "code.python"),
        "paddle.nn.Linear(4, 4)(paddle.ones([2, 5]))",
        "X dimension",
        moments=ANY_STEP,
        weight=4,
    ),
    Fault(
        "op-label",
        "operator",
        ("code.operator", "data.format", "code.python"),
        "paddle.nn.functional.embedding(paddle.to_tensor([9]), paddle.ones([4, 2]))",
        "Error",
        moments=ANY_STEP,
        weight=4,
    ),
    Fault(
        "nan-assert",
        "numeric",
        ("numeric.nan", "code.python"),
        "value = float('nan')\nassert np.isfinite(value), f'loss became {value}'",
        "loss became nan",
        moments=ANY_STEP,
    ),
    Fault(
        "nan-raise",
        "numeric",
        ("numeric.nan", "code.python"),
        'raise FloatingPointError("Loss is nan at this step, stop training")',
        "Loss is nan",
        moments=ANY_STEP,
    ),
    Fault(
        "nan-exit",
        "numeric",
        ("numeric.nan", "code.python", "unknown"),
        'print("loss is NaN, training is stopped", flush=True)\nsys.exit(1)',
        "loss is NaN",
        moments=ANY_STEP,
    ),
    Fault(
        "nan-check",
        "numeric",
        ("numeric.nan", "code.operator"),
        "paddle.set_flags({'FLAGS_check_nan_inf': 1})\npaddle.log(paddle.to_tensor([-1.0])) * 2",
        "There are NAN or INF",
        moments=ANY_STEP,
    ),
)
