"""The map step, one log to its facts: read here, on a Ray cluster, or remembered from last time.

    mapper = mapper_of("ray", address="10.0.0.1:6379")
    facts, records, notes = read_sources(found, engine, mapper=mapper)

Whoever reads, the facts are the same: `local.py` on this machine, `forked.py` with several of its
processes, `on_ray.py` on a cluster; `memory.py` keeps them by content.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal, get_args

from pdtriage.reading.local import Mapper, read_here

EngineChoice = Literal["local", "ray"]
ENGINES: tuple[str, ...] = get_args(EngineChoice)


def mapper_of(
    engine: EngineChoice = "local",
    address: str | None = None,
    cache: bool = True,
    meanwhile: Callable[[], None] | None = None,
) -> Mapper:
    """Who reads the logs. `address` is that of a Ray cluster; `cache` looks first for what is
    known from an earlier look; `meanwhile` is done while other processes of this machine read."""
    mapper: Mapper = partial(read_here, meanwhile=meanwhile)
    if engine == "ray":
        from pdtriage.reading.on_ray import read_on_ray

        mapper = partial(read_on_ray, address=address)
    if not cache:
        return mapper
    from pdtriage.reading.memory import read_or_remember

    return partial(read_or_remember, otherwise=mapper)


__all__ = ["ENGINES", "EngineChoice", "mapper_of"]
