"""Prints the flags of both of Paddle's launchers and the variables of the new one, as JSON."""

import argparse
import contextlib
import json
import sys

from paddle.distributed.fleet import launch as legacy
from paddle.distributed.launch.context import args_envs

found = []


def remember(parser, *_, **__):
    found.extend(name for action in parser._actions for name in action.option_strings)
    raise SystemExit


argparse.ArgumentParser.parse_args = argparse.ArgumentParser.parse_known_args = remember
sys.argv = ["launch", "train.py"]
for parse in (args_envs.parse_args, legacy._parse_args):
    with contextlib.suppress(SystemExit):
        parse()
variables = {name: flag for name, (flag, _) in args_envs.env_args_mapping.items()}
print(json.dumps({"flags": sorted(set(found) - {"-h", "--help"}), "variables": variables}))
