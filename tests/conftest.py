"""What holds for all tests.

A suite started by `nohup`, or by a script with `&`, is deaf to signals, and so would be every
process it starts: the tests of Ctrl-C and of a closed terminal would wait for ever. And a busy
machine makes no property wrong.
"""

from __future__ import annotations

import signal

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

LONGEST = ("test_compiled.py", "test_on_ray.py", "test_lives.py")
"""Files with one long story each: begun last, they would keep one core busy and the others idle."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name not in LONGEST)
