"""Why a parsers file cannot be used, in both languages."""

from __future__ import annotations

import re

from pdtriage.knowledge.signature import detecting_form
from pdtriage.model import Text
from pdtriage.support.errors import UserError


def compiled(pattern: str | None, where: str, plain: bool = False, scanned: bool = False) -> None:
    """Refuses what does not compile.

    Prefixes are `plain`, for the standard library; counters are `scanned` for in every log, and
    the engines that do so know less than the others.
    """
    import regex

    if pattern is None:
        return
    try:
        re.compile(pattern) if plain else regex.compile(pattern)
    except (re.error, regex.error, ValueError, OverflowError, RecursionError) as error:
        raise UserError(
            Text(f"{where} does not compile: {error}", f"{where} 无法编译：{error}")
        ) from error
    if scanned:
        _scan(pattern, where)


def _scan(pattern: str, where: str) -> None:
    from pdtriage.support.multi_pattern import database_of  # only for those who have counters

    try:
        database_of("counters", [detecting_form(pattern).encode()])
    except Exception as error:  # each engine has errors of its own, and one may be absent
        raise UserError(
            Text(
                f"{where} does not compile for scanning: {error}; write it without lookaround, "
                "backreferences and large repeats",
                f"{where} 无法编译用于扫描：{error}；请不要使用环视、反向引用和很大的重复次数",
            )
        ) from error
