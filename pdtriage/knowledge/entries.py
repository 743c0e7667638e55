"""Tables of a parsers file to signatures and formats, believing nothing about them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast, get_args

from pdtriage.knowledge.says import words_of
from pdtriage.knowledge.signature import Case, Format, Retry, Signature, Trigger
from pdtriage.model import CATEGORIES, SIGNATURE_ROLES, FileKind, SignatureRole, Text
from pdtriage.support.errors import UserError

SIGNATURE_KEYS = frozenset(Signature._fields) - {"family"}
KINDS, TRIGGERS, RETRIES = get_args(FileKind), get_args(Trigger), get_args(Retry)
TOPLESS_ROLES = frozenset({"start", "progress", "end", "noise", "context", "victim"})
"""Roles that may do without a category: they never name a cause."""


def signature_of(entry: dict[str, object], path: Path) -> Signature:
    name = entry.get("id")
    if not isinstance(name, str) or not name:
        raise UserError(Text(f"{path}: a signature without an id", f"{path}：有一个特征没有 id"))
    where = f"{path}: signature {name!r}"
    if not entry.keys() <= SIGNATURE_KEYS:
        key = min(entry.keys() - SIGNATURE_KEYS)
        raise UserError(Text(f"{where}: unknown key {key!r}", f"{where}：未知的键 {key!r}"))
    role = entry.get("role")
    if role not in SIGNATURE_ROLES:
        raise _one_of("role", SIGNATURE_ROLES, where)
    category = entry.get("category")
    if category not in CATEGORIES and not (category is None and role in TOPLESS_ROLES):
        raise UserError(
            Text(
                f"{where}: category {category!r} is not in the list of categories",
                f"{where}：category {category!r} 不在类别列表中",
            )
        )
    kinds = _strings(entry.get("kinds", []), where)
    if any(kind not in KINDS for kind in kinds):
        known = ", ".join(KINDS)
        raise UserError(
            Text(f"{where}: kinds must be of {known}", f"{where}：kinds 只能取 {known}")
        )
    literals = _strings(entry.get("literals", []), where)
    trigger = entry.get("trigger", "literal")
    if trigger not in TRIGGERS or (trigger == "literal") != bool(literals):
        raise UserError(
            Text(
                f'{where}: needs literals, or trigger = "traceback" without any',
                f'{where}：需要 literals，或者写 trigger = "traceback" 而不写 literals',
            )
        )
    points = entry.get("points")
    if (points is None) == (role == "symptom") or points not in (None, "peer", "earlier"):
        raise UserError(
            Text(
                f'{where}: points = "peer" or "earlier" goes with a symptom',
                f'{where}：symptom 需要且只有它可以写 points = "peer" 或 "earlier"',
            )
        )
    pattern = _optional(entry, "pattern", where)
    says = words_of(_strings(entry.get("says", []), where), str(role), trigger, pattern, where)
    retry = entry.get("retry")
    if retry not in (None, *RETRIES):
        raise _one_of("retry", RETRIES, where)
    return Signature(
        id=name,
        family=path.stem,
        role=cast(SignatureRole, role),
        category=category,
        title=_text(entry.get("title"), where + " title"),
        full_title=_some_text(entry, "full_title", where),
        literals=literals,
        trigger=cast(Trigger, trigger),
        pattern=pattern,
        lines=_number(entry, "lines", where),
        stack=_optional(entry, "stack", where),
        kinds=cast("tuple[FileKind, ...]", kinds),
        generic=entry.get("generic") is True,
        final=entry.get("final") is True,
        repeats=_number(entry, "repeats", where),
        points=points,
        says=says,
        explains=_strings(entry.get("explains", []), where),
        retry=cast("Retry | None", retry),
        meaning=_some_text(entry, "meaning", where),
        confirm=_some_text(entry, "confirm", where),
        advice=_texts(entry.get("advice", []), where + " advice"),
        instead=_instead(entry.get("advice", []), where),
        cases=_cases(entry.get("cases", []), where),
        names=_names(entry.get("names", {}), where),
        samples=_strings(entry.get("samples", []), where),
        misses=_strings(entry.get("misses", []), where),
    )


def format_of(entry: dict[str, object], path: Path) -> Format:
    where = f"{path}: format {entry.get('id')!r}"
    pattern = _optional(entry, "pattern", where)
    if not isinstance(entry.get("id"), str) or pattern is None:
        raise UserError(Text(f"{where}: needs an id and a pattern", f"{where}：需要 id 和 pattern"))
    return Format(
        id=str(entry["id"]),
        pattern=pattern,
        samples=_strings(entry.get("samples", []), where),
        misses=_strings(entry.get("misses", []), where),
    )


def _text(value: object, where: str) -> Text:
    if isinstance(value, dict) and (en := value.get("en")) and (zh := value.get("zh")):
        return Text(str(en).strip(), str(zh).strip())
    raise UserError(Text(f"{where}: needs both en and zh", f"{where}：需要同时有 en 和 zh"))


def _some_text(entry: dict[str, object], key: str, where: str) -> Text | None:
    return _text(entry[key], f"{where} {key}") if key in entry else None


def _texts(value: object, where: str) -> tuple[Text, ...]:
    if value == []:
        return ()
    if not isinstance(value, list):
        raise UserError(
            Text(f"{where}: must be a list of {{en, zh}}", f"{where}：必须是 {{en, zh}} 的列表")
        )
    return tuple([_text(item, where) for item in value])


def _instead(advice: object, where: str) -> tuple[int, ...]:
    """The places of the steps that stand in for the one above them."""
    steps = advice if isinstance(advice, list) else []
    found = tuple([n for n, step in enumerate(steps) if step.get("instead") is True])
    if 0 in found:
        raise UserError(
            Text(
                f"{where}: the first step of advice stands in for none above it",
                f"{where}：advice 的第一步之前没有可替代的步骤",
            )
        )
    return found


def _cases(value: object, where: str) -> tuple[Case, ...]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise UserError(
            Text(
                f"{where}: cases must be tables, each begun with [[signature.cases]]",
                f"{where}：cases 必须是表，每个以 [[signature.cases]] 开头",
            )
        )
    return tuple([_case(item, where) for item in value])


def _case(entry: dict[str, object], where: str) -> Case:
    pattern, advice = _optional(entry, "pattern", where), entry.get("advice")
    if pattern is None or not advice or set(entry) != {"pattern", "advice"}:
        raise UserError(
            Text(
                f"{where}: a case has a pattern and advice",
                f"{where}：case 只有 pattern 和 advice 两项",
            )
        )
    return Case(pattern, _texts(advice, where + " advice"), _instead(advice, where))


def _names(value: object, where: str) -> tuple[tuple[str, str, str], ...]:
    """The table of a signature that gives the values of its slots their names."""
    tables = value.items() if isinstance(value, dict) else [("", value)]
    found: list[tuple[str, str, str]] = []
    for slot, table in tables:
        if not isinstance(table, dict) or not all(isinstance(n, str) for n in table.values()):
            raise UserError(
                Text(
                    f"{where}: names has a table of strings for each slot",
                    f"{where}：names 中每个占位符对应一个字符串表",
                )
            )
        found += [(slot, one, name) for one, name in table.items()]
    return tuple(found)


def _strings(value: object, where: str) -> tuple[str, ...]:
    if value == []:  # as most are
        return ()
    if isinstance(value, list) and all(isinstance(item, str) and item for item in value):
        return tuple(value)
    raise UserError(
        Text(
            f"{where}: {value!r} must be a list of non-empty strings",
            f"{where}：{value!r} 必须是非空字符串的列表",
        )
    )


def _optional(entry: dict[str, object], key: str, where: str) -> str | None:
    value = entry.get(key)
    if value is None or (isinstance(value, str) and value):
        return value
    raise UserError(
        Text(f"{where}: {key} must be a non-empty string", f"{where}：{key} 必须是非空字符串")
    )


def _number(entry: dict[str, object], key: str, where: str) -> int:
    value = entry.get(key, 1)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    raise UserError(
        Text(
            f"{where}: {key} must be a whole number from 1 on",
            f"{where}：{key} 必须是不小于 1 的整数",
        )
    )


def _one_of(key: str, known: Sequence[str], where: str) -> UserError:
    listed = ", ".join(known)
    return UserError(
        Text(f"{where}: {key} must be one of {listed}", f"{where}：{key} 只能是 {listed} 之一")
    )
