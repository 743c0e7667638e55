"""What a secret looks like in a line of text, and its masking.

A value is masked when it has the shape of a known key or token, when it stands in a URL in front
of the host, or when the name it is given to says that it is secret. Names of the field that only
look like it (`pad_token`, `num_tokens`, `PWD`) are left alone: a masked error line helps nobody.
Dumps of a whole environment keep the values of variables that are known to be harmless.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from math import log2
from string import ascii_letters, digits

from pdtriage.scan.launcher_output import ALLOWED
from pdtriage.support.lazy_regex import lazy_compile

MASK = "***"

_SHAPES = lazy_compile(
    r"""
    (?:\b|(?<=\\[nrt]))(?:                                      # or a line break as repr has it
    (?:AKIA|ASIA|AGPA|AROA)[A-Z0-9]{16}\b                     # Amazon
    | LTAI[A-Za-z0-9]{12,26}\b                                # Alibaba
    | AKID[A-Za-z0-9]{28,36}\b                                # Tencent
    | ALTAK[A-Za-z0-9]{16,24}\b | bce-auth-v[0-9]/[^\s"',;]{16,}    # Baidu
    | AIza[A-Za-z0-9_-]{35}                                   # Google
    | gh[pousr]_[A-Za-z0-9]{30,} | github_pat_[A-Za-z0-9_]{30,}
    | glpat-[A-Za-z0-9_-]{16,} | glrt-[A-Za-z0-9_-]{16,}
    | hf_[A-Za-z0-9]{30,} | npm_[A-Za-z0-9]{30,} | pypi-[A-Za-z0-9_-]{30,}
    | sk-(?:[a-z]+-)*[A-Za-z0-9_-]{20,} | [rs]k_(?:live|test)_[A-Za-z0-9]{16,}
    | xox[abeoprs]-[A-Za-z0-9-]{10,} | SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}
    | https://hooks\.slack\.com/services/[A-Za-z0-9/]{20,}
    | wandb_v1_[A-Za-z0-9_]{20,} | ya29\.[A-Za-z0-9_-]{20,}
    | hvs\.[A-Za-z0-9_-]{24,} | dckr_pat_[A-Za-z0-9_-]{20,} | AGE-SECRET-KEY-1[0-9A-Z]{30,}
    | dop_v1_[0-9a-f]{40,} | dapi[0-9a-f]{32}\b | [0-9]{8,10}:AA[A-Za-z0-9_-]{32,}
    | eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*      # JSON web token
    )
    """,
    re.VERBOSE | re.ASCII,  # Chinese needs no blank before a key
)
_SHAPE_WORDS = (
    *("akia", "asia", "agpa", "aroa", "ltai", "akid", "altak", "bce-auth-v", "aiza"),
    *("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "glrt-"),
    *("hf_", "npm_", "pypi-", "sk-", "k_live_", "k_test_", "xox", "sg.", "hooks.slack.com"),
    *("wandb_v1_", "ya29.", "hvs.", "dckr_pat_", "age-secret-key-1", "dop_v1_", "dapi", ":aa"),
    "eyj",
)
_VAULT = lazy_compile(r"\bs\.[A-Za-z0-9]{24}\b", re.ASCII)
_CUT_SHORT = lazy_compile(  # a line too long to keep ends so, perhaps in the middle of a key
    r"(?P<keep>)(?P<secret>\b(?:AKIA|ASIA|LTAI|AKID|ALTAK|AIza|gh[pousr]_|github_pat_|gl(?:pat|rt)-|"
    r"hf_|npm_|pypi-|sk-|[rs]k_live_|xox[abeoprs]-|eyJ)[A-Za-z0-9_.-]+)(?=…)",
    re.M | re.ASCII,
)
_URL_CUT_SHORT = lazy_compile(  # before the @ that tells a password from a port
    r"(?P<keep>\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@'\"]{0,200}:)"
    r"(?P<secret>(?!\d{1,5}…)[^\s/@'\"]+)(?=…)",
    re.I | re.M,
)
_VALUE_CUT_SHORT = lazy_compile(  # too little is left of it to look like a secret
    r"(?P<keep>\bbearer\s+|[?&](?:access_token|token|sig|[a-z-]*signature|key|secret|auth)=|"
    r"\b(?:key|auth|sas|sig|signature)['\"]?\s*[:=]\s*['\"]?)"
    r"(?P<secret>[^\s&'\"]+)(?=…)",
    re.I | re.M,
)
_PRIVATE_KEY = lazy_compile(
    r"(?P<keep>-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----)"
    r"(?P<secret>(?:(?!-----END)[\s\S])+)"
)
_KEY_WITHOUT_BEGINNING = lazy_compile(
    r"(?P<keep>)(?P<secret>(?:^[A-Za-z0-9+/=]{16,76}\n)+)(?=-----END [A-Z ]*PRIVATE KEY)", re.M
)
_KEY_LINE = lazy_compile(r"^(?=\S*[a-z])(?=\S*[A-Z])(?=\S*[0-9])[A-Za-z0-9+/]{64}$", re.M)
_URL = lazy_compile(
    r"(?P<keep>\b[a-z][a-z0-9+.-]{1,20}://(?:[^\s/:@'\"]{0,200}:)?)(?P<secret>[^\s/'\"]{3,400})(?=@)",
    re.I,
)
_HEADER = lazy_compile(
    r"(?P<keep>\b(?:proxy-)?authorization\b['\"]?\s*[:=]\s*['\"]?(?:(?:bearer|basic|digest|token)\s+)?"
    r")(?!(?:bearer|basic|digest|token)\b)(?P<secret>[^\s'\",][^\s'\"]{3,})"
    r"|(?P<keep2>\bbearer\s+)(?P<secret2>[A-Za-z0-9._~+/-]{16,}=*)",
    re.I,
)
_COOKIE = lazy_compile(
    r"(?P<keep>\b(?:set-)?cookie['\"]?\s*[:=]\s*['\"]?)(?P<secret>[^\s'\"=;]{1,60}=[^'\"\n]{4,})",
    re.I,
)
_PARAMETER = lazy_compile(
    r"(?P<keep>[?&](?:access_token|token|sig|signature|x-amz-signature|x-amz-credential|"
    r"x-amz-security-token|x-goog-signature|x-oss-signature|q-signature|x-bce-security-token|"
    r"ossaccesskeyid|key|secret|auth|authorization)=)(?P<secret>[^\s&'\"]{6,})",
    re.I,
)
_SECRET_NAME = (
    r"(?:pass(?:word|wd|phrase)|pwd|secret(?:[_-]?(?:access)?[_-]?key)?|token|"
    r"(?:api|access|account|auth|private|encryption|signing)[_-]?key(?:[_-]?(?:id|secret))?|"
    r"credentials?|(?<![a-z])(?:ak|sk))"
)
_SECRET_ENDS: tuple[str, ...] = (  # in small letters, what each of these ends with
    *("password", "passwd", "passphrase", "pwd", "secret", "token", "credential", "credentials"),
    *("key", "keyid", "key_id", "key-id", "ak", "sk"),
)
_SECRET_VALUE = r"""(?P<secret>(?<=')[^'\n]+|(?<=")[^"\n]+|[^\s'",;&)\]}]+)"""
_NAMED = lazy_compile(
    rf"""(?P<keep>(?P<name>{_SECRET_NAME})\\?['"]?\s*(?:=>|[:=：])\s*"""  # \\: JSON within JSON
    r"""(?:[bruf]{0,2}\\?(?=['"]))?(?P<quote>['"]?))""" + _SECRET_VALUE,
    re.IGNORECASE,
)
_PAIRED = lazy_compile(
    rf"""(?P<keep>\([bru]?['"](?P<name>[\w.-]{{0,60}}?{_SECRET_NAME})['"],\s*[bru]?(?P<quote>['"]))"""
    r"""(?P<secret>[^'"\n]+)(?=['"]\s*\))""",
    re.IGNORECASE,
)
_KEY_NAME = lazy_compile(
    r"""(?P<keep>(?P<name>(?:key|auth|sas|sig|signature|session(?:[_-]?id)?|webhook|"""
    r"""client-key-data|client-certificate-data|passcode|salt|seed_phrase))['"]?\s*[:=]\s*"""
    r"""(?P<quote>['"]?))(?P<secret>[A-Za-z0-9+/_=.~-]{20,})""",
    re.I,
)
_KEY_ENDS = (
    *("key", "auth", "sas", "sig", "signature", "session", "sessionid", "session_id", "session-id"),
    *("webhook", "client-key-data", "client-certificate-data", "passcode", "salt", "seed_phrase"),
)
_FLAG = lazy_compile(
    rf"""(?P<keep>(?P<name>{_SECRET_NAME})(?:\s+|['"],\s*)(?P<quote>['"]?))""" + _SECRET_VALUE,
    re.IGNORECASE,
)
_NAME_CHARACTERS = ascii_letters + digits + "_.-"
_FLAG_ENDS = (
    *(name for name in _SECRET_ENDS if len(name) > 2),
    *(before + name for before in digits + "_.-" for name in ("ak", "sk")),  # no letter
)
_DASHES = lazy_compile(r"--?\w")
_HARMLESS_NAME = lazy_compile(
    r"(?<![a-z])"
    r"(?:pad|eos|bos|unk|unknown|cls|sep|mask|start|end|begin|stop|special|additional|image|audio|"
    r"next|last|first|prev|input|output|prompt|completion|invalid|unexpected|bad|syntax|per|num|max|"
    r"min|n)[_.-]?tokens?$",
    re.I,
)
_HARMLESS_VALUE = lazy_compile(
    r"(?:none|null|nil|true|false|str|string|bytes|int|optional|os\.environ.*|getenv.*|"
    r"\*+|<[^>]*>?|\$\{?\w+\}?|%s|\{\w*\}|-?[0-9.]+%?|xxx+)[,.;:)]*$",
    re.I,
)


RANDOM_BITS = 3.3
HARMLESS_VARIABLES = ALLOWED | {
    *(
        "HOME",
        "LANG",
        "LC_ALL",
        "LD_LIBRARY_PATH",
        "LOGNAME",
        "OLDPWD",
        "PATH",
        "PWD",
        "PYTHONPATH",
    ),
    *("SHELL", "SHLVL", "TERM", "TZ", "USER", "HOSTNAME", "OMP_NUM_THREADS", "PYTHONUNBUFFERED"),
    *("CUDA_HOME", "CUDA_VERSION", "NCCL_DEBUG", "NCCL_SOCKET_IFNAME", "NCCL_IB_DISABLE", "GLOG_v"),
    *("NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", "CUSTOM_DEVICE_ROOT", "DISPLAY"),
}
_DUMP_DICT = lazy_compile(  # blanks in one place only, or there are too many ways to share them out
    r"""\{(?:\s*['"]\w{1,80}['"]:\s*(?:'[^'\n]*'|"[^"\n]*"),?){6,}\s*[^}\n]*\}?"""
)
_PAIR = lazy_compile(
    r"""(?P<keep>['"](?P<name>[A-Z_]\w*)['"]:\s*(?P<quote>['"]))(?P<value>(?:(?!(?P=quote))[^\n])*)"""
)
DUMPED = 5
"""So many variables, one a line, are a dump."""
_DUMP_LINES = lazy_compile(r"(?:^(?:export |declare -x )?[A-Z_][A-Z0-9_]*=.*(?:\n|$)){5,}", re.M)
_ASSIGNED = lazy_compile(r"(?P<keep>^(?:export |declare -x )?(?P<name>\w+)=)(?P<value>.*)$", re.M)


def masked_text(text: str) -> tuple[str, int]:
    """`text` with its secrets masked, and their number. The number of lines stays."""
    count = 0

    def _mask(secret: str) -> str:
        nonlocal count
        count += 1
        return "\n".join(MASK if line.strip() else line for line in secret.split("\n"))

    folded = text.casefold()
    for words, substitute in _SUBSTITUTIONS:
        if any(word in folded for word in words):
            text = substitute(text, _mask)
    return text, count


_Mask = Callable[[str], str]
_Substitute = Callable[[str, _Mask], str]


def _all(pattern: re.Pattern[str]) -> _Substitute:
    """Masks each match."""
    return lambda text, mask: pattern.sub(lambda found: mask(found.group()), text)


def _groups(pattern: re.Pattern[str], suspicious: Callable[[re.Match[str]], bool]) -> _Substitute:
    """Masks the group `secret` of each match and keeps `keep`, the text before it."""

    def _substitute(text: str, mask: _Mask) -> str:
        def _one(found: re.Match[str]) -> str:
            keep, secret = _parts(found)
            if MASK in secret or not suspicious(found):
                return found.group()
            return keep + mask(secret)

        return pattern.sub(_one, text)

    return _substitute


def _assigned(names: tuple[str, ...], substitute: _Substitute) -> _Substitute:
    """Only in a text in which a colon or an equals sign follows one of the names."""
    marks = (":", "=", "：")
    return _followed(names, tuple(q + m for q in _QUOTES for m in marks), "", substitute)


def _paired(names: tuple[str, ...], substitute: _Substitute) -> _Substitute:
    """Only in a text in which one of the names is quoted, and something follows."""
    return _followed(names, ("',", '",'), "", substitute)


def _flagged(names: tuple[str, ...], substitute: _Substitute) -> _Substitute:
    """Only in a text in which a value may follow one of the names."""
    return _followed(names, (" ", "',", '",'), " ", substitute)


_QUOTES = ("", "'", '"', "\\'", '\\"')
_DOTS = str.maketrans({"ı": "i", "\u0307": ""})
"""To a pattern that ignores case, an i is an i with or without its dot."""


def _followed(
    names: tuple[str, ...], marks: tuple[str, ...], space: str, substitute: _Substitute
) -> _Substitute:
    """Nearly every message has a colon, and patterns of names take longer to compile than all else
    that is done to it. White space counts as `space`."""
    told = tuple(name + mark for name in names for mark in marks)

    def _substitute(text: str, mask: _Mask) -> str:
        folded = space.join(text.casefold().translate(_DOTS).split())
        return substitute(text, mask) if any(words in folded for words in told) else text

    return _substitute


def _parts(found: re.Match[str]) -> tuple[str, str]:
    groups = found.groupdict()
    if groups.get("secret2") is not None:
        return groups["keep2"], groups["secret2"]
    return groups["keep"], groups["secret"]


def _always(found: re.Match[str]) -> bool:
    return bool(found.group())


def _named_like_a_secret(found: re.Match[str]) -> bool:
    name, secret = _whole_name(found).lower(), found["secret"]
    if _HARMLESS_NAME.search(name) or _HARMLESS_VALUE.match(secret):
        return False
    if name.endswith("pwd") and secret.startswith(("/", ".", "~")):
        return False
    if name.endswith(("token", "ak", "sk", "credential", "credentials")):
        # "unexpected token: foo": only a long value with digits or capitals is one
        return len(secret) >= 12 and bool(re.search(r"\d", secret)) and " " not in secret
    return len(secret) >= 4 or bool(found["quote"])


def _flag_like_a_secret(found: re.Match[str]) -> bool:
    return bool(_DASHES.match(_whole_name(found))) and _named_like_a_secret(found)


def _whole_name(found: re.Match[str]) -> str:
    """What stands before the telling part belongs to the name: `MY_TOKEN`, `--hub-token`."""
    start = found.start("name")
    around = found.string[max(0, start - 60) : start]
    return around[len(around.rstrip(_NAME_CHARACTERS)) :] + str(found["name"])


def _looks_random(found: re.Match[str]) -> bool:
    """The name alone says little (`key`, `session`): the value must look drawn by lot."""
    secret: str = found["secret"]
    mixed = bool(re.search(r"\d", secret)) and bool(re.search(r"[A-Za-z]", secret))
    return mixed and "/" not in secret[:1] and entropy(secret) >= RANDOM_BITS


def entropy(text: str) -> float:
    """Bits a character, as Shannon counts them."""
    shares = [number / len(text) for number in Counter(text).values()]
    return -sum(share * log2(share) for share in shares)


def _dumps(text: str, mask: _Mask) -> str:
    """A whole environment: only what is known to be harmless stays readable."""

    def _value(found: re.Match[str]) -> str:
        if found["name"] in HARMLESS_VARIABLES or not found["value"] or MASK in found["value"]:
            return found.group()
        return found["keep"] + mask(found["value"])

    def _dump(found: re.Match[str]) -> str:
        pairs = _PAIR if "{" in found.group() else _ASSIGNED
        return pairs.sub(_value, found.group())

    if "{" in text:
        text = _DUMP_DICT.sub(_dump, text)
    return _DUMP_LINES.sub(_dump, text) if text.count("=") >= DUMPED else text


def _key_lines(text: str, mask: _Mask) -> str:
    """Lines from the midst of a private key, which are all of one length."""
    return _all(_KEY_LINE)(text, mask) if 64 in map(len, text.split("\n")) else text


_SUBSTITUTIONS: tuple[tuple[tuple[str, ...], _Substitute], ...] = (
    (("private key",), _groups(_PRIVATE_KEY, _always)),
    (("private key",), _groups(_KEY_WITHOUT_BEGINNING, _always)),
    (("",), _key_lines),
    (("{", "="), _dumps),
    (_SHAPE_WORDS, _all(_SHAPES)),
    (("s.",), _all(_VAULT)),
    (("…",), _groups(_CUT_SHORT, _always)),
    (("…",), _groups(_URL_CUT_SHORT, _always)),
    (("…",), _groups(_VALUE_CUT_SHORT, _always)),
    (("@",), _groups(_URL, _always)),
    (("authorization", "bearer"), _groups(_HEADER, _always)),
    (("cookie",), _groups(_COOKIE, _always)),
    (("?", "&"), _groups(_PARAMETER, _always)),
    (("=", ":", "："), _assigned(_SECRET_ENDS, _groups(_NAMED, _named_like_a_secret))),
    (("(",), _paired(_SECRET_ENDS, _groups(_PAIRED, _named_like_a_secret))),
    (("-",), _flagged(_FLAG_ENDS, _groups(_FLAG, _flag_like_a_secret))),
    (("=", ":"), _assigned(_KEY_ENDS, _groups(_KEY_NAME, _looks_random))),
)
"""Each with words of which a text must have one, in small letters or capitals.

Most texts have none: that is seen at once, and few of the patterns are ever compiled.
"""
