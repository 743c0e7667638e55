"""Keys that are known by their own shape, private keys, URLs, headers; also where they are cut."""

from __future__ import annotations

import re

from pdtriage.masking.substitution import Mask, Rule, all_of, mask_groups
from pdtriage.masking.value import is_code, is_drawn, is_number, is_placeholder, is_prose
from pdtriage.support.lazy_regex import lazy_compile

_SHAPES = lazy_compile(
    r"""
    (?:\b|(?<=\\[nrt]))(?:                                      # or a line break as repr has it
    (?:AKIA|ASIA|AGPA|AROA)[A-Z0-9]{16}\b                     # Amazon
    | LTAI[A-Za-z0-9]{12,26}\b                                # Alibaba
    | AKID[A-Za-z0-9]{28,36}\b                                # Tencent
    | ALTAK[A-Za-z0-9]{16,24}\b | bce-(?:auth-)?v[0-9]/[^\s"',;]{16,}    # Baidu
    | AKLT[A-Za-z0-9]{30,60}={0,2}                            # Volcano Engine
    | AIza[A-Za-z0-9_-]{35}                                   # Google
    | gh[pousr]_[A-Za-z0-9]{30,} | github_pat_[A-Za-z0-9_]{30,}
    | glpat-[A-Za-z0-9_-]{16,} | glrt-[A-Za-z0-9_-]{16,}
    | hf_[A-Za-z0-9]{30,} | npm_[A-Za-z0-9]{30,} | pypi-[A-Za-z0-9_-]{30,}
    | sk-(?=[A-Za-z_-]{0,60}[0-9]|[A-Za-z]{30})[A-Za-z0-9_-]{20,}
    | [rs]k_(?:live|test)_[A-Za-z0-9]{16,}
    | xox[abeoprs]-[A-Za-z0-9-]{10,} | xapp-[0-9]-[A-Za-z0-9-]{20,}
    | SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}
    | https://hooks\.slack\.com/services/[A-Za-z0-9/]{20,}
    | SEC[0-9a-f]{32,}\b                                      # DingTalk
    | wandb_v1_[A-Za-z0-9_]{20,} | ya29\.[A-Za-z0-9_-]{20,}
    | hvs\.[A-Za-z0-9_-]{24,} | dckr_pat_[A-Za-z0-9_-]{20,} | AGE-SECRET-KEY-1[0-9A-Z]{30,}
    | dop_v1_[0-9a-f]{40,} | dapi[0-9a-f]{32}\b | (?:bot)?[0-9]{8,10}:AA[A-Za-z0-9_-]{32,}
    | bot[0-9]{6,12}:[A-Za-z0-9_-]{30,}
    | (?<![A-Za-z0-9_]-)eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*  # JSON web token
    | tvly-[A-Za-z0-9_-]{20,} | nvapi-[A-Za-z0-9_-]{30,} | gsk_[A-Za-z0-9]{30,}
    | r8_[A-Za-z0-9]{30,} | gl(?:sa|c)_[A-Za-z0-9_=]{30,} | xai-[A-Za-z0-9]{40,}
    | sntry[su]_[A-Za-z0-9_=+/]{30,} | lin_api_[A-Za-z0-9]{30,} | rubygems_[0-9a-f]{40,}
    | NRAK-[A-Z0-9]{20,} | ATATT3[A-Za-z0-9_=-]{30,} | figd_[A-Za-z0-9_-]{30,}
    )
    """,
    re.VERBOSE | re.ASCII,  # Chinese needs no blank before a key
)
_SHAPE_WORDS = (
    *("akia", "asia", "agpa", "aroa", "ltai", "akid", "altak", "bce-", "aiza", "aklt"),
    *("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "glrt-"),
    *(
        "hf_",
        "npm_",
        "pypi-",
        "sk-",
        "k_live_",
        "k_test_",
        "xox",
        "xapp-",
        "sg.",
        "hooks.slack.com",
    ),
    *(
        "wandb_v1_",
        "ya29.",
        "hvs.",
        "dckr_pat_",
        "age-secret-key-1",
        "dop_v1_",
        "dapi",
        ":aa",
        "/bot",
    ),
    *("eyj", "sec", "tvly-", "nvapi-", "gsk_", "r8_", "glsa_", "glc_", "xai-", "sntry", "lin_api_"),
    *("rubygems_", "nrak-", "atatt3", "figd_"),
)
_VAULT = lazy_compile(r"\bs\.(?=[A-Za-z]{0,23}[0-9])[A-Za-z0-9]{24}\b", re.ASCII)
_HOOK = lazy_compile(
    r"(?P<keep>\b(?:open\.(?:feishu\.cn|larksuite\.com)|(?:open\.)?feishu|lark)[\w./-]{0,60}?/hook/|"
    r"\bdiscord(?:app)?\.com/api/webhooks/[0-9]{1,24}/|\bsc(?:tapi|)\.ftqq\.com/|\bapi\.day\.app/|"
    r"\bwebhook\.office\.com/webhookb2/|/open-apis/bot/(?:v[0-9]/)?hook/|/webhooks?/|/hooks?/)"
    r"(?P<secret>[A-Za-z0-9][A-Za-z0-9@_-]{15,})",
    re.I,
)
_CHANNEL = lazy_compile(
    r"(?P<keep>://[^\s/]{1,200}/t/(?:[a-z]{2}-)?)(?P<secret>[0-9a-f][0-9a-f-]{29,})(?=/)"
)
_DINGTALK = lazy_compile(
    r"(?P<keep>\b(?:dingtalk|钉钉|加签)[^\n]{0,60}?\b)(?P<secret>SEC[A-Za-z0-9]{16,})", re.I
)
_CUT_SHORT = lazy_compile(  # a line too long to keep ends so, perhaps in the middle of a key
    r"(?P<keep>)(?P<secret>\b(?:AKIA|ASIA|LTAI|AKID|ALTAK|AIza|gh[pousr]_|github_pat_|gl(?:pat|rt)-|"
    r"hf_|npm_|pypi-|sk-|[rs]k_live_|xox[abeoprs]-|eyJ)[A-Za-z0-9_.-]{1,400})(?=…)",
    re.M | re.ASCII,
)
_URL_CUT_SHORT = lazy_compile(  # before the @ that tells a password from a port
    r"(?P<keep>\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@'\"]{0,200}:)"
    r"(?P<secret>(?!\d{1,5}…)[^\s/@'\"]+)(?=…)",
    re.I | re.M,
)
_VALUE_CUT_SHORT = lazy_compile(  # too little is left of it to look like a secret
    r"(?P<keep>\bbearer\s{1,9}|[?&](?:access_token|token|sig|[a-z-]{0,20}signature|key|secret|auth)=|"
    r"\b(?:key|auth|sas|sig|signature)['\"]?\s{0,9}[:=]\s{0,9}['\"]?)"
    r"(?P<secret>[^\s&'\"]{1,400})(?=…)",
    re.I | re.M,
)
_PRIVATE_KEY = lazy_compile(
    r"(?P<keep>-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----)"
    r"(?P<secret>(?:(?!-----END)[\s\S])+)"
)
_KEY_ENDS = lazy_compile(r"-----END [A-Z ]{0,40}PRIVATE KEY")
_KEY_ROW = lazy_compile(r"[A-Za-z0-9+/=]{16,76}\Z")
_KEY_LINE = lazy_compile(r"^(?=\S*[a-z])(?=\S*[A-Z])(?=\S*[0-9])[A-Za-z0-9+/]{64}$", re.M)
_URL = lazy_compile(
    r"(?P<keep>\b[a-z][a-z0-9+.-]{1,20}://(?:[^\s/:@'\"]{0,200}:)?)"
    r"(?P<secret>[^\s/'\"]{3,400})(?=@)",
    re.I,
)
_DATA_SOURCE = lazy_compile(  # of Go and others: user:password@tcp(host:port)/database
    r"(?P<keep>(?<![\w.%+-])[\w.%+-]{1,64}:)(?P<secret>[^\s'\"]{1,200})(?=@(?:tcp|tcp6|udp|unix)?\()"
)
_USER_AT_HOST = lazy_compile(  # no scheme, but a port
    r"(?P<keep>(?<![\w.%+/@-])(?!(?:mailto|user|host|from|to|at|ssh|docker|image)\b)[A-Za-z_][\w.-]{0,63}:)"
    r"(?P<secret>[^\s'\"/:]{4,100})(?=@(?!sha256)[\w.-]{1,200}:[0-9]{2,5}\b)",
    re.I,
)
_HEADER = lazy_compile(
    r"(?P<keep>\b(?:proxy-)?authorization\b\\?['\"]?\s*[:=]\s*\\?['\"]?"
    r"(?:(?:bearer|basic|digest|token)\s+)?"
    r")(?!(?:bearer|basic|digest|token)\b)(?P<secret>[^\s'\",\\][^\s'\"\\]{3,})",
    re.I,
)
_BEARER = lazy_compile(r"(?P<keep>\bbearer\s+)(?P<secret>[A-Za-z0-9._~+/-]{16,}=*)", re.I)
_COOKIE = lazy_compile(
    r"(?P<keep>\b(?:set-)?cookie['\"]?\s*[:=]\s*['\"]?)(?P<secret>[^\s'\"=;]{1,60}=[^'\"\n]{4,})",
    re.I,
)
_PARAMETER = lazy_compile(
    r"(?P<keep>[?&](?:access_token|token|sig|sign|signature|x-amz-signature|x-amz-credential|"
    r"x-amz-security-token|x-goog-signature|x-oss-signature|q-signature|x-bce-security-token|"
    r"ossaccesskeyid|key|secret|auth|authorization|api[_-]?key|password|passwd|pwd|ak|sk)=)"
    r"(?P<secret>[^\s&'\"]{6,})",
    re.I,
)
_WANDB = lazy_compile(
    r"(?P<keep>\bwandb[^\n]{0,200}?(?<![0-9a-z/.:@-]))(?<!commit )(?<!sha )(?<!rev )"
    r"(?P<secret>[0-9a-f]{40})(?![0-9a-z])",
    re.I,
)

_USER = lazy_compile(  # what stands before the host is a name, or it is a port
    r"(?:(?:git\+|svn\+)?(?:ssh|sftp|scp|rsync|hdfs|afs|smb|nfs)://[^:]*|"
    r"[a-z0-9+.-]+://(?:git|[0-9.]{7,15}:[0-9]{2,5}))\Z",
    re.I,
)
_VERSION = lazy_compile(r"v[0-9][\w.-]*\Z")
_OWN_HOOK = lazy_compile(r"/(?:web)?hooks?/\Z", re.I)


def _is_hook(found: re.Match[str]) -> bool:
    """Whether the end of a URL is a secret hook; below any `/hooks/` there are names as well."""
    return not _OWN_HOOK.match(found["keep"]) or is_drawn(found["secret"])


def _is_parameter(found: re.Match[str]) -> bool:
    secret: str = found["secret"]
    if is_placeholder(secret):
        return False
    name = str(found["keep"])[1:-1].lower()
    if name == "key":  # that of a dictionary or of a store
        return is_drawn(secret)
    return not is_number(secret) or name in ("password", "passwd", "pwd")


def _is_user_at_host(found: re.Match[str]) -> bool:
    secret: str = found["secret"]
    is_version = _VERSION.match(secret) and not is_drawn(secret)
    mixed = any(c.isalpha() for c in secret) and any(not c.isalpha() for c in secret)
    return mixed and not (is_version or secret.startswith("$") or is_code(secret))


def _is_in_url(found: re.Match[str]) -> bool:
    return _is_given(found) and not _USER.match(found["keep"] + found["secret"])


def _is_in_header(found: re.Match[str]) -> bool:
    return _is_given(found) and not is_prose(found["secret"])


def _is_given(found: re.Match[str]) -> bool:
    return not is_placeholder(found["secret"])


def _keys_without_beginning(text: str, mask: Mask) -> str:
    """Whole rows before the end of a private key, looked at from the end."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if _KEY_ENDS.match(line):
            first = number
            while first and _KEY_ROW.match(lines[first - 1]):
                first -= 1
            if first < number:
                lines[first:number] = mask("\n".join(lines[first:number])).split("\n")
    return "\n".join(lines)


def _key_lines(text: str, mask: Mask) -> str:
    """Lines from the midst of a private key, which are all of one length."""
    return all_of(_KEY_LINE)(text, mask) if 64 in map(len, text.split("\n")) else text


PRIVATE_KEYS: tuple[Rule, ...] = (
    (("private key",), mask_groups(_PRIVATE_KEY)),
    (("private key",), _keys_without_beginning),
    (("",), _key_lines),
)
SHAPES: tuple[Rule, ...] = (
    (_SHAPE_WORDS, all_of(_SHAPES)),
    (("s.",), all_of(_VAULT)),
    (("hook", "ftqq.com", "api.day.app"), mask_groups(_HOOK, _is_hook)),
    (("/t/",), mask_groups(_CHANNEL)),
    (("dingtalk", "钉钉", "加签"), mask_groups(_DINGTALK)),
    (("…",), mask_groups(_CUT_SHORT)),
    (("…",), mask_groups(_URL_CUT_SHORT)),
    (("…",), mask_groups(_VALUE_CUT_SHORT)),
    (("@",), mask_groups(_URL, _is_in_url)),
    (("(",), mask_groups(_DATA_SOURCE, _is_given)),
    (("@",), mask_groups(_USER_AT_HOST, _is_user_at_host)),
    (("authorization",), mask_groups(_HEADER, _is_in_header)),
    (("bearer",), mask_groups(_BEARER)),
    (("cookie",), mask_groups(_COOKIE)),
    (("?", "&"), mask_groups(_PARAMETER, _is_parameter)),
    (("wandb",), mask_groups(_WANDB)),
)
