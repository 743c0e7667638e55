"""Prints what both of Paddle's launchers know, as JSON: flags, variables and messages.

Flags, and the variables that stand for them, are asked for; other variables and the messages are
found in the source, where names and the fixed parts of a text are written out.
"""

import argparse
import ast
import contextlib
import json
import re
import sys
from pathlib import Path

import paddle
from paddle.distributed.fleet import launch as legacy
from paddle.distributed.launch.context import args_envs

ROOT = Path(paddle.__file__).parent / "distributed"
NEW = [
    *(ROOT / "launch" / "controllers").glob("*.py"),
    *(ROOT / "launch" / "context").glob("*.py"),
    *(ROOT / "launch" / "job").glob("*.py"),
    ROOT / "launch" / "plugins" / "__init__.py",
    ROOT / "launch" / "utils" / "process_context.py",
]
LEGACY = [ROOT / "fleet" / "launch.py", ROOT / "fleet" / "launch_utils.py"]
ELASTIC = [*(ROOT / "fleet" / "elastic").glob("*.py"), ROOT / "fleet" / "cloud_utils.py"]
VARIABLE = re.compile(r"(?:[A-Z]+|FLAGS_\w+)(?:_\w+)+|STAGE_ID|https?_proxy")
SPEAKS = ("info", "warning", "warn", "error")


def flags():
    found = []

    def remember(parser, *_, **__):
        found.extend(name for action in parser._actions for name in action.option_strings)
        raise SystemExit

    argparse.ArgumentParser.parse_args = argparse.ArgumentParser.parse_known_args = remember
    sys.argv = ["launch", "train.py"]
    for parse in (args_envs.parse_args, legacy._parse_args):
        with contextlib.suppress(SystemExit):
            parse()
    return set(found) - {"-h", "--help"}


def variables(tree):
    """Names that are asked for, set, or listed to be set in an environment."""
    for node in ast.walk(tree):
        keys = []
        if isinstance(node, ast.Call) and "env" in ast.unparse(node.func).lower():
            keys = node.args[:1]
        elif isinstance(node, ast.Dict):
            keys = node.keys
        elif isinstance(node, ast.Subscript) and "env" in ast.unparse(node.value).lower():
            keys = [node.slice]
        elif isinstance(node, ast.Compare) and "environ" in ast.unparse(node.comparators[0]):
            keys = [node.left]
        names = (getattr(key, "value", None) for key in keys)
        yield from (name for name in names if isinstance(name, str) and VARIABLE.fullmatch(name))


def messages(tree):
    """What is printed or logged, without debug lines; what is filled in is {}."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        called = ast.unparse(node.func)
        if called == "print" or ("logger" in called and called.endswith(SPEAKS)):
            text = fixed_text(node.args[0])
            if len(re.findall("[A-Za-z]", text)) > 1:
                yield re.sub(r"%s", "{}", text)


def fixed_text(node):
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(v.value if isinstance(v, ast.Constant) else "{}" for v in node.values)
    if isinstance(node, ast.BinOp):
        return fixed_text(node.left)
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".format"):
        return fixed_text(node.func.value)
    return "{}"


def words_of(files, find):
    trees = [ast.parse(file.read_text()) for file in files]
    return sorted({found for tree in trees for found in find(tree)})


print(
    json.dumps(
        {
            "flags": sorted(flags()),
            "stand_for_flags": {
                name: flag for name, (flag, _) in args_envs.env_args_mapping.items()
            },
            "variables": words_of(NEW + LEGACY + ELASTIC, variables),
            "messages": words_of(NEW + LEGACY, messages),
        }
    )
)
