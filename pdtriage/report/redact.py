"""Secrets out of a report: `redacted(report)` masks them and counts what it masked.

A value is masked when it has the shape of a known key or token, when it stands in a URL in front
of the host, or when the name it is given to says that it is secret. Names of the field that only
look like it (`pad_token`, `num_tokens`, `PWD`) are left alone: a masked error line helps nobody.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from pdtriage.model import Cause, Evidence, Moment, Report, Text

MASK = "***"

_SHAPES = re.compile(
    r"""
    \b(?:AKIA|ASIA|AGPA|AROA)[A-Z0-9]{16}\b                     # Amazon
    | \bLTAI[A-Za-z0-9]{12,26}\b                                # Alibaba
    | \bAKID[A-Za-z0-9]{28,36}\b                                # Tencent
    | \bALTAK[A-Za-z0-9]{16,24}\b | \bbce-auth-v[0-9]/[^\s"',;]{16,}    # Baidu
    | \bAIza[A-Za-z0-9_-]{35}                                   # Google
    | \bgh[pousr]_[A-Za-z0-9]{30,} | \bgithub_pat_[A-Za-z0-9_]{30,}
    | \bglpat-[A-Za-z0-9_-]{16,} | \bglrt-[A-Za-z0-9_-]{16,}
    | \bhf_[A-Za-z0-9]{30,} | \bnpm_[A-Za-z0-9]{30,} | \bpypi-[A-Za-z0-9_-]{30,}
    | \bsk-(?:[a-z]+-)*[A-Za-z0-9_-]{20,} | \b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}
    | \bxox[abeoprs]-[A-Za-z0-9-]{10,} | \bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}
    | \bdop_v1_[0-9a-f]{40,} | \bdapi[0-9a-f]{32}\b | \b[0-9]{8,10}:AA[A-Za-z0-9_-]{32,}
    | \beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*      # JSON web token
    """,
    re.VERBOSE,
)
_PRIVATE_KEY = re.compile(
    r"(?P<keep>-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----)"
    r"(?P<secret>(?:(?!-----END)[\s\S])+)"
)
_URL = re.compile(
    r"(?P<keep>\b[a-z][a-z0-9+.-]{1,20}://(?:[^\s/:@'\"]{0,200}:)?)(?P<secret>[^\s/@'\"]{3,400})(?=@)",
    re.I,
)
_HEADER = re.compile(
    r"(?P<keep>\b(?:proxy-)?authorization\b['\"]?\s*[:=]\s*['\"]?(?:(?:bearer|basic|digest|token)\s+)?"
    r"|\b(?:set-)?cookie:\s*)(?!(?:bearer|basic|digest|token)\b)(?P<secret>[^\s'\",][^\s'\"]{3,})"
    r"|(?P<keep2>\bbearer\s+)(?P<secret2>[A-Za-z0-9._~+/-]{16,}=*)",
    re.I,
)
_PARAMETER = re.compile(
    r"(?P<keep>[?&](?:access_token|token|sig|signature|x-amz-signature|x-amz-credential|"
    r"x-amz-security-token|key|secret|authorization)=)(?P<secret>[^\s&'\"]{6,})",
    re.I,
)
_SECRET_NAME = (
    r"(?:pass(?:word|wd|phrase)|pwd|secret(?:[_-]?(?:access)?[_-]?key)?|token|"
    r"(?:api|access|account|auth|private|encryption|signing)[_-]?key(?:[_-]?(?:id|secret))?|"
    r"credentials?|(?<![a-z])(?:ak|sk))"
)
_SECRET_VALUE = r"""(?P<secret>(?<=')[^'\n]+|(?<=")[^"\n]+|[^\s'",;&)\]}]+)"""
_NAMED = re.compile(
    rf"""(?P<keep>(?P<name>[a-z0-9_.-]{{0,60}}{_SECRET_NAME})['"]?\s*[:=]\s*(?P<quote>['"]?))"""
    + _SECRET_VALUE,
    re.IGNORECASE,
)
_FLAG = re.compile(
    rf"""(?P<keep>(?P<name>--?[a-z0-9_-]{{0,60}}{_SECRET_NAME})(?:\s+|['"],\s*)(?P<quote>['"]?))"""
    + _SECRET_VALUE,
    re.IGNORECASE,
)
_HARMLESS_NAME = re.compile(
    r"(?:pad|eos|bos|unk|unknown|cls|sep|mask|start|end|begin|stop|special|additional|image|audio|"
    r"next|last|first|prev|input|output|prompt|completion|invalid|unexpected|bad|syntax|per|num|max|"
    r"min|n)[_.-]?tokens?$",
    re.I,
)
_HARMLESS_VALUE = re.compile(
    r"(?:none|null|nil|true|false|str|string|bytes|int|optional|os\.environ.*|getenv.*|"
    r"\*+|<[^>]*>?|\$\{?\w+\}?|%s|\{\w*\}|-?[0-9.]+%?|xxx+)[,.;:)]*$",
    re.I,
)


def redacted(report: Report) -> Report:
    """The same report with every secret masked; `redactions` says how many there were."""
    masker = _Masker()
    masked = replace(
        report,
        root_causes=tuple(masker.cause(cause) for cause in report.root_causes),
        timeline=tuple(masker.moment(moment) for moment in report.timeline),
        notes=masker.sentences(report.notes),
    )
    return replace(masked, redactions=report.redactions + masker.count)


def masked_text(text: str) -> tuple[str, int]:
    """`text` with its secrets masked, and their number. The number of lines stays."""
    count = 0

    def _mask(secret: str) -> str:
        nonlocal count
        count += 1
        return "\n".join(MASK if line.strip() else line for line in secret.split("\n"))

    for substitute in _SUBSTITUTIONS:
        text = substitute(text, _mask)
    return text, count


_Mask = Callable[[str], str]


def _shapes(text: str, mask: _Mask) -> str:
    return _SHAPES.sub(lambda found: mask(found.group()), text)


def _groups(
    pattern: re.Pattern[str], suspicious: Callable[[re.Match[str]], bool]
) -> Callable[[str, _Mask], str]:
    """Masks the group `secret` of each match and keeps `keep`, the text before it."""

    def _substitute(text: str, mask: _Mask) -> str:
        def _one(found: re.Match[str]) -> str:
            keep, secret = _parts(found)
            if MASK in secret or not suspicious(found):
                return found.group()
            return keep + mask(secret)

        return pattern.sub(_one, text)

    return _substitute


def _parts(found: re.Match[str]) -> tuple[str, str]:
    groups = found.groupdict()
    if groups.get("secret2") is not None:
        return groups["keep2"], groups["secret2"]
    return groups["keep"], groups["secret"]


def _always(found: re.Match[str]) -> bool:
    return bool(found.group())


def _named_like_a_secret(found: re.Match[str]) -> bool:
    name, secret = found["name"].lower(), found["secret"]
    if _HARMLESS_NAME.search(name) or _HARMLESS_VALUE.match(secret):
        return False
    if name.endswith("pwd") and secret.startswith(("/", ".", "~")):
        return False
    if name.endswith(("token", "ak", "sk", "credential", "credentials")):
        # "unexpected token: foo": only a long value with digits or capitals is one
        return len(secret) >= 12 and bool(re.search(r"\d", secret)) and " " not in secret
    return len(secret) >= 4 or bool(found["quote"])


_SUBSTITUTIONS = (
    _groups(_PRIVATE_KEY, _always),
    _shapes,
    _groups(_URL, _always),
    _groups(_HEADER, _always),
    _groups(_PARAMETER, _always),
    _groups(_NAMED, _named_like_a_secret),
    _groups(_FLAG, _named_like_a_secret),
)


class _Masker:
    """Masks the nouns of a report and counts over all of them; a repeated text counts once."""

    def __init__(self) -> None:
        self.count = 0
        self._known: dict[str, str] = {}

    def text(self, text: str) -> str:
        if text not in self._known:
            self._known[text], found = masked_text(text)
            self.count += found
        return self._known[text]

    def sentence(self, text: Text) -> Text:
        english = self.text(text.en)
        before = self.count
        chinese = self.text(text.zh)
        self.count = before  # the same secret, told twice
        return Text(english, chinese)

    def sentences(self, texts: Iterable[Text]) -> tuple[Text, ...]:
        return tuple(self.sentence(text) for text in texts)

    def moment(self, moment: Moment) -> Moment:
        return replace(moment, text=self.sentence(moment.text))

    def evidence(self, evidence: Evidence) -> Evidence:
        """Lines together, because a private key goes over several."""
        before, after = len(evidence.before), len(evidence.after)
        lines = [*evidence.before, evidence.text, *evidence.after]
        if any("\n" in line for line in lines):
            masked = [self.text(line) for line in lines]
        else:
            masked = self.text("\n".join(lines)).split("\n")
        return replace(
            evidence,
            before=tuple(masked[:before]),
            text=masked[before],
            after=tuple(masked[before + 1 : before + 1 + after]),
        )

    def cause(self, cause: Cause) -> Cause:
        return replace(
            cause,
            title=self.sentence(cause.title),
            why=self.sentences(cause.why),
            evidence=tuple(self.evidence(evidence) for evidence in cause.evidence),
            fields={name: self.text(value) for name, value in cause.fields.items()},
            advice=self.sentences(cause.advice),
        )
