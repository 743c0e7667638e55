"""Secrets that a sentence tells, English or Chinese: "API token X is invalid", "密码：X"."""

from __future__ import annotations

import re

from pdtriage.masking.substitution import Rule, mask_groups
from pdtriage.masking.value import (
    is_code,
    is_drawn,
    is_mixed,
    is_name,
    is_number,
    is_path,
    is_placeholder,
    is_prose,
)
from pdtriage.support.lazy_regex import lazy_compile

_CHINESE_WORDS = (
    *("密码", "口令", "密钥", "秘钥", "密匙", "令牌", "私钥", "凭证", "凭据", "授权码", "验证码"),
    *("暗号", "密 码"),
)
_PASSWORDS = ("密码", "口令", "授权码", "验证码", "暗号", "密 码")
_CHINESE = lazy_compile(
    rf"(?P<word>{'|'.join(_CHINESE_WORDS)})"
    r"(?:[ \t]{0,4}[(（][^()（）\n]{0,20}[)）])?"
    r"(?:ID|串|值|内容|(?P<about>[\u4e00-\u9fff]{1,8}?)(?<![为成是])(?=[ \t]?[:：]))?"
    r"(?P<mark>[)）]?[ \t]{0,8}(?:[】」』]?[:：=＝]|[】」』]|"
    r"(?:(?:已经?|被|刚)?"
    r"(?:设置?|重置|修改|更改|更新|更换|变更|改|换)(?:为|成)|"
    r"就是|应为|为|是)[:：]?|->|=>)?)[ \t]{0,8}"
    r"(?P<quote>['\"“”‘’「『【《`(（\[]?)"
    r"(?P<secret>(?<=['\"`])[^'\"`\n]{3,}|[!-&(-+\--:<-_a-z{-~]{4,}(?:,[!-&(-+\--:<-_a-z{-~]+)*)",
    re.I,
)
_ENGLISH = lazy_compile(
    r"(?<![A-Za-z])(?P<word>(?:(?:api|(?:secret[ _-])?access|auth|bearer|secret|private|session|"
    r"refresh|account|webhook|encryption|signing|master|license)[ _-]?(?:token|key)(?:[ _-]id)?)|"
    r"(?:client|app|consumer|shared)[ _-]secret|token|secret|password|passwd|"
    r"pass ?phrase|passcode|credentials?|bduss|sessionid)"
    r"(?P<mark>(?:\s{1,4}for\s{1,4}(?:user\s{1,4})?[\w.@-]{1,64}(?=\s{1,4}"
    r"(?:(?:is|was|has been)\s{1,4})?(?:(?:re)?(?:set|changed|updated)\s{1,4}to|is|was)\b))?"
    r"\s{1,8}(?:\[[^\]\n]{0,24}\][ \t]{0,4}(?=:)|"
    r"(?:(?:is|was|has been|value)\s{1,8})?(?:now\s{1,8})?"
    r"(?:re)?(?:set|changed|updated)\s{1,8}to\b\s{0,8}|"
    r"(?:is|was|of|to|value|provided|used|given)\b\s{0,8})?(?::\s{0,8})?)"
    r"(?P<quote>['\"`“(\[]?)(?P<secret>(?<=['\"`])[^'\"`\n]{3,}|[^\s'\"`“”，。；,;)\]]{6,})",
    re.I,
)
_ENGLISH_WORDS = (
    *(
        "token",
        "secret",
        "password",
        "passwd",
        "passphrase",
        "pass phrase",
        "passcode",
        "credential",
    ),
    *(
        "apikey",
        "accesskey",
        "api key",
        "api-key",
        "api_key",
        "access key",
        "access-key",
        "access_key",
        "auth key",
    ),
    *("secret key", "private key", "account key", "master key", "license key", "bduss"),
    *("encryption key", "signing key", "webhook key", "session key", "sessionid"),
)
_NETRC = lazy_compile(
    r"(?P<keep>\b(?:login|account)\s{1,20}\S{1,100}\s{1,20}password\s{1,20})(?P<secret>\S+)", re.I
)
_PROMPT = lazy_compile(
    r"(?P<keep>\bpass(?:word|phrase) for [^\n]{1,200}?:[ \t]{1,8})(?P<secret>[^\s'\"]+)", re.I
)
_PAIR = lazy_compile(
    r"(?P<keep>\bcredentials?(?:[ \t]{1,4}(?:are|is))?:?[ \t]{1,8}['\"]?"
    r"(?!(?:file|env|vault|arn|path|secret|cache|name|type)\b)[\w.@-]{1,64}:)"
    r"(?P<secret>[^\s'\",;:/]+)(?=['\",;.]?(?:[\s]|$))",
    re.I,
)
_NETRC_LINE = lazy_compile(
    r"(?P<keep>(?:^[ \t]{0,20}passw(?:or)?d|\b(?:requirepass|masterauth))[ \t]{1,20})"
    r"(?P<secret>\S+)(?=[ \t\r]{0,20}$)",
    re.I | re.M,
)


def _is_secret_in_chinese(found: re.Match[str]) -> bool:
    secret = found["secret"].rstrip(".:,;!?)]}")
    if is_placeholder(secret) or is_path(secret) or is_code(secret):
        return False
    about = found["about"] or ""
    if about and (not is_mixed(secret, 8) or (is_name(secret) and not _WRONG.search(about))):
        return False  # `密码长度：8`, `密钥算法：AES-256`
    has_mark, quoted = bool(found["mark"].strip()), bool(found["quote"])
    is_password = found["word"] in _PASSWORDS
    if is_number(secret):
        return is_password and has_mark and len(secret) >= 4 and "." not in secret
    if is_password:
        return len(secret) >= 4 and _is_no_range(secret) if has_mark else is_mixed(secret)
    if has_mark or quoted:
        may_be_short = found["word"] != "令牌"  # of a vocabulary, too
        made_up = may_be_short and is_mixed(secret, 8) and not is_name(secret)
        return made_up or is_drawn(secret, 10)
    return is_drawn(secret)


def _is_secret_in_english(found: re.Match[str]) -> bool:
    secret = found["secret"].rstrip(".:!?")
    if is_placeholder(secret) or is_prose(secret) or is_path(secret) or is_code(secret):
        return False
    if found["word"].lower() in ("password", "passwd", "passphrase", "pass phrase", "passcode"):
        return is_mixed(secret) and not _LONG_NAME.match(secret[:200]) and " " not in secret
    if _QUALIFIED.match(found["word"]) and is_mixed(secret, 10) and not _LONG_NAME.match(secret):
        return not is_name(secret)
    return is_drawn(secret) and " " not in secret


def _is_made_up(found: re.Match[str]) -> bool:
    secret: str = found["secret"]
    return is_mixed(secret, 8) and not is_placeholder(secret)


def _is_on_a_line(found: re.Match[str]) -> bool:
    secret: str = found["secret"]
    return not (is_placeholder(secret) or is_prose(secret)) and (
        is_mixed(secret) or (is_number(secret) and len(secret) >= 4)
    )


def _is_given(found: re.Match[str]) -> bool:
    return not is_placeholder(found["secret"])


_QUALIFIED = lazy_compile(
    r"(?:(?:api|access|auth|bearer|refresh|secret|private)[ _-]?(?:token|key)|"
    r"[a-z]{3,8}[ _-]secret)\Z",
    re.I,
)
_LONG_NAME = lazy_compile(r"[A-Za-z0-9]+[._/:-]+[A-Za-z0-9]+[._/:-]+[A-Za-z0-9]")
_WRONG = lazy_compile("[错误不失无]")
_RANGE = lazy_compile(r"[0-9]{1,3}[-~][0-9]{1,3}\Z")


def _is_no_range(secret: str) -> bool:
    return not _RANGE.match(secret)


PROSE: tuple[Rule, ...] = (
    (_CHINESE_WORDS, mask_groups(_CHINESE, _is_secret_in_chinese)),
    (("password",), mask_groups(_NETRC, _is_given)),
    (("credential",), mask_groups(_PAIR, _is_made_up)),
    (("password for", "passphrase for"), mask_groups(_PROMPT, _is_on_a_line)),
    (("passw", "requirepass", "masterauth"), mask_groups(_NETRC_LINE, _is_on_a_line)),
    (_ENGLISH_WORDS, mask_groups(_ENGLISH, _is_secret_in_english)),
)
