"""Mistakes in the training script itself."""

from ..scenario import Launch, Scenario, Truth

SCENARIOS = (
    Scenario(
        "import-all",
        "no rank finds a module the script imports",
        Truth(
            "failed",
            "code.import",
            culprit_ranks=(0, 1),
            key_line="ModuleNotFoundError: No module named 'paddleseg_extras'",
        ),
        (Launch(launcher="legacy"),),
    ),
    Scenario(
        "name-error",
        "rank 1 uses a name that does not exist",
        Truth(
            "failed",
            "code.python",
            culprit_ranks=(1,),
            victim_ranks=(0,),
            key_line="NameError: name 'learning_rate' is not defined",
        ),
        (Launch(launcher="legacy"),),
    ),
    Scenario(
        "op-shape",
        "rank 1 multiplies matrices that do not fit",
        Truth("failed", "code.operator", culprit_ranks=(1,), victim_ranks=(0,)),
        (Launch(),),
    ),
)
