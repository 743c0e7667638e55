"""Mistakes in the training script, operators that refuse their inputs, numbers that go astray."""

from ..scenario import Launch, Scenario, blame

SCENARIOS = (
    Scenario(
        "import-all",
        "no rank finds a module the script imports",
        blame("code.import", 0, 1, key="ModuleNotFoundError: No module named 'paddleseg_extras'"),
        (Launch(launcher="legacy"),),
    ),
    Scenario(
        "import-one",
        "only rank 2 imports a name this version of Paddle does not have",
        blame("code.import", 2, of=3, key="cannot import name 'deformable_attention'"),
        (Launch(ranks=3),),
    ),
    Scenario(
        "syntax-error",
        "the script does not compile",
        blame("code.python", 0, 1, 2, of=3, key="SyntaxError: expected ':'"),
        (Launch(ranks=3, script="syntax_error.py.txt"),),
    ),
    Scenario(
        "name-error",
        "rank 1 uses a name that does not exist",
        blame("code.python", 1, key="NameError: name 'learning_rate' is not defined"),
        (Launch(launcher="legacy"),),
    ),
    Scenario(
        "key-error",
        "rank 3 of 4 misses a key in its configuration",
        blame("code.python", 3, of=4, key="KeyError: 'Optimizer'"),
        (Launch(ranks=4),),
    ),
    Scenario(
        "custom-exception",
        "rank 1 raises an exception of its own, named and worded in Chinese",
        blame("code.python", 1, key="第 4 步只剩 3 个样本，至少需要 4 个"),
    ),
    Scenario(
        "thread-exception",
        "a thread of rank 1 raises; the main thread waits for it in vain and exits with 1",
        blame("code.python", 1, also=("data.worker",), key="no transform named 'RandomErase'"),
    ),
    Scenario(
        "exception-group",
        "rank 1 fails with an exception group",
        blame("code.python", 1, key="ValueError: shard 2 has no manifest"),
    ),
    Scenario(
        "chained-exceptions",
        "rank 1 raises one exception as the direct consequence of another",
        blame("code.python", 1, key="RuntimeError: cannot build the learning rate schedule"),
        (Launch(launcher="legacy"),),
    ),
    Scenario(
        "assertion",
        "an assertion of rank 1 does not hold",
        blame("code.python", 1, key="AssertionError: global batch size must be divisible"),
    ),
    Scenario(
        "op-shape",
        "rank 1 multiplies matrices that do not fit",
        blame("code.operator", 1, key="(InvalidArgument) In operator matmul"),
    ),
    Scenario(
        "op-dtype",
        "rank 1 uses float numbers as an index",
        blame("code.operator", 1, key="Input(Index) holds the wrong type, it holds float32"),
        (Launch(launcher="legacy"),),
    ),
    Scenario(
        "op-unimplemented",
        "rank 1 calls an operator that has no kernel for bool",
        blame("code.operator", 1, key="of kernel `relu` is not registered"),
    ),
    Scenario(
        "nan-check",
        "FLAGS_check_nan_inf stops rank 1",
        blame("numeric.nan", 1, key="There are NAN or INF (num_nan=1, num_inf=0, num_zero=0)"),
    ),
    Scenario(
        "nan-raise",
        "the script of rank 1 stops itself because its loss is NaN",
        blame("numeric.nan", 1, key="FloatingPointError: Loss is nan at step 1"),
    ),
    Scenario(
        "pool-raises",
        "a process of rank 1's pool raises; rank 1 stops the pool, then raises the same itself",
        blame("code.python", 1, key="ValueError: vocabulary has no token for id 7"),
    ),
)
