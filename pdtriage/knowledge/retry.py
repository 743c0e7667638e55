"""Whether a failure is worth another attempt: what the categories and signatures say."""

from __future__ import annotations

from pdtriage.knowledge.categories import categories
from pdtriage.knowledge.signature import Knowledge, Retry, Signature
from pdtriage.model import Text
from pdtriage.support.fast_namedtuple import NamedTuple

ALIKE = Text(
    "all ranks failed alike, which is no accident",
    "所有 rank 以同样的方式失败，并非偶然",
)
WORDS: dict[Retry, Text] = {
    "yes": Text("worth another attempt", "值得再试"),
    "no": Text("not worth another attempt", "不值得再试"),
    "once": Text("worth one more attempt", "值得再试一次"),
}


class Worth(NamedTuple):
    """Whether to try again, and why where somebody wrote it down."""

    retry: Retry
    why: Text | None = None


def worth_of(
    signature: str, category: str, knowledge: Knowledge, *, on_all_ranks: bool = False
) -> Worth:
    """What is known of `signature`, else of its category; an unknown one is tried once.

    What may be an accident on one rank (`once`) is none where all ranks met it.
    """
    worth = _written(signature, category, knowledge)
    if on_all_ranks and worth.retry == "once" and category != "unknown":
        return Worth("no", ALIKE)
    return worth


def sentence(signature: Signature | None, category: str, knowledge: Knowledge) -> Text | None:
    """What `--restart-on auto` makes of it, for people who look it up; None for what never ends
    a job."""
    if signature is not None and signature.role not in ("cause", "symptom"):
        return None
    worth = worth_of(signature.id if signature else "", category, knowledge)
    word = WORDS[worth.retry]
    if worth.why is None:
        return word
    return Text(f"{word.en}: {worth.why.en}", f"{word.zh}：{worth.why.zh}")


def exceptions(category: str, knowledge: Knowledge) -> list[Text]:
    """Signatures of a category that say otherwise, for people who look it up."""
    general = categories()[category].retry
    told: dict[Retry, list[str]] = {}
    for signature in knowledge.signatures.values():
        own = signature.retry
        if signature.category == category and own is not None and own != general:
            told.setdefault(own, []).append(signature.id)
    return [
        Text(
            f"{WORDS[worth].en} after {', '.join(names)}",
            f"{'、'.join(names)} 之后{WORDS[worth].zh}",
        )
        for worth, names in told.items()
    ]


def _written(signature: str, category: str, knowledge: Knowledge) -> Worth:
    general = categories().get(category) or categories()["unknown"]
    known = knowledge.signatures.get(signature)
    own = known.retry if known is not None else None
    if own is None or own == general.retry:
        return Worth(general.retry, general.retry_why)
    # What speaks for one more attempt of the others speaks for several of this one.
    return Worth(own, general.retry_why if "no" not in (own, general.retry) else None)
