"""Values whose name says that they are secret: assigned, in pairs, behind flags, in subscripts."""

from __future__ import annotations

import re
from string import ascii_letters, digits

from pdtriage.masking.substitution import Mask, Rule, Substitute, mask_groups
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
from pdtriage.masking.variables import is_harmless
from pdtriage.support.lazy_regex import lazy_compile

SECRET_NAME = (
    r"(?:pass(?:word|wd|phrase)|pwd|secret(?:[_.-]?(?:access)?[_.-]?key)?|secret[_-]?id|token|bduss|"
    r"(?:api|access|account|auth|private|encryption|signing|license)[_-]?key(?:[_-]?(?:id|secret))?|"
    r"credentials?|(?<![a-z])(?:ak|sk))"
)
_SECRET_ENDS: tuple[str, ...] = (  # in small letters, what each of these ends with
    *("password", "passwd", "passphrase", "pwd", "secret", "token", "credential", "credentials"),
    *("key", "keyid", "key_id", "key-id", "secretid", "secret_id", "secret-id", "bduss"),
    *("ak", "sk"),
)
_UNQUOTED = r"""[^\s'",;&)\]}，。；、）]+"""
SECRET_VALUE = (
    r"""(?P<secret>(?<=\\')[^'\\\n]+|(?<=\\")[^"\\\n]+"""  # JSON within JSON
    r"""|(?<=')(?:[^'\\\n]|\\.)+|(?<=")(?:[^"\\\n]|\\.)+"""
    rf"""|{_UNQUOTED}(?:[,;&)\]}}]+(?![A-Za-z_][\w.-]{{0,40}}['"]?\s*[=:]){_UNQUOTED})*)"""
)
"""A comma within an unquoted value is part of it unless another name follows."""
_SET = "配置|设置|设定|重置|修改|更改|更新|设|改"
_NAMED = lazy_compile(
    rf"""(?P<keep>(?P<name>{SECRET_NAME})(?:_bfess)?\\?['"]?\]?\s*(?:=>|->|[:=：＝]|已?(?:{_SET})?(?:为|成)|是)\s*"""
    r"""(?P<call>[A-Za-z_][\w.]{0,40}\((?=[bruf]{0,2}['"]))?"""
    r"""(?:[bruf]{0,2}\\?(?=['"]))?(?P<quote>['"]?))""" + SECRET_VALUE,
    re.IGNORECASE,
)
_PAIRED = lazy_compile(
    rf"""(?P<keep>\([bru]?['"](?P<name>[\w.-]{{0,60}}?{SECRET_NAME})['"],\s*[bru]?(?P<quote>['"]))"""
    r"""(?P<secret>(?:(?!(?P=quote))[^\n])+)(?=['"]\s*\))""",
    re.IGNORECASE,
)
_CALLED = lazy_compile(
    rf"""(?P<keep>(?P<name>{SECRET_NAME})\([bruf]?(?P<quote>['"]))(?P<secret>[^'"\n]{{6,200}})(?=['"])""",
    re.I,
)
_ASKED_FOR = lazy_compile(
    r"(?:get|read|load|has|is|find|fetch|check|need|use|require|ask|del|list)", re.I
)
_NAME_AND_VALUE = lazy_compile(  # as Kubernetes and Hadoop list them
    rf"""(?P<keep>\bname['"]?(?::\s*|>\s*)['"]?(?P<name>[\w.-]{{0,60}}?{SECRET_NAME})"""
    r"""(?:['"]?,?\s{1,40}['"]?value['"]?:\s*(?P<quote>['"]?)|\s*</name>\s*<value>\s*))"""
    r"""(?P<secret>[^\s'"<]+)""",
    re.IGNORECASE,
)
_ELEMENT = lazy_compile(
    rf"(?P<keep><(?P<name>[\w.-]{{0,60}}?{SECRET_NAME})>\s*)(?P<quote>)(?P<secret>[^<\s][^<\n]*)(?=</)",
    re.I,
)
_CELL = lazy_compile(  # of a table, as configurations are printed
    rf"""(?P<keep>[|│┃][ \t]{{0,40}}(?P<name>[\w.-]{{0,60}}?{SECRET_NAME})[ \t]{{0,100}}[|│┃]"""
    r"""[ \t]{0,40}(?P<quote>['"]?))(?P<secret>[^\s|│┃'"]+)""",
    re.I,
)
_KEY_NAME = lazy_compile(
    r"""(?P<keep>(?P<name>(?:key|auth|sas|sig|sign|signature|session(?:[_-]?id)?|webhook|"""
    r"""client-key-data|client-certificate-data|passcode|pass|pw|jwt|salt|seed_phrase))['"]?\]?\s*(?:[:=：]|为|是)\s*"""
    r"""(?P<quote>['"]?))(?P<secret>[A-Za-z0-9+/_=.~!@#$%^*-]{6,})""",
    re.I,
)
_KEY_ENDS = (
    *("key", "auth", "sas", "sig", "sign", "signature", "session", "sessionid", "session_id"),
    *("session-id", "webhook", "client-key-data", "client-certificate-data", "passcode", "pass"),
    *("salt", "seed_phrase", "pw", "jwt"),
)
_FLAG = lazy_compile(
    rf"""(?P<keep>(?P<name>{SECRET_NAME})(?:\s+|['"],\s*|\x00|\\x00|\\0)(?P<quote>['"]?))"""
    + SECRET_VALUE,
    re.IGNORECASE,
)
_NAME_CHARACTERS = ascii_letters + digits + "_.-"
_FLAG_ENDS = (
    *(name for name in _SECRET_ENDS if len(name) > 2),
    *(before + name for before in digits + "_.-" for name in ("ak", "sk")),  # no letter
)
_DASHES = lazy_compile(r"--?\w")
_AFTER_NUL = lazy_compile(
    r"(?:x00|0)--?\w"
)  # of a command line as the kernel keeps and repr shows it
_HARMLESS_NAME = lazy_compile(
    r"(?<![a-z])"
    r"(?:pad|eos|bos|unk|unknown|cls|sep|mask|start|end|begin|stop|special|additional|image|audio|"
    r"next|last|first|prev|input|output|prompt|completion|invalid|unexpected|bad|syntax|per|num|max|"
    r"min|n|new|total|vocab|sub|added|decoded|video|think)[_.-]?tokens?$|imagepullsecret$",
    re.I,
)
_REFUSED = lazy_compile(r"(?:invalid|bad|unknown)[_.-]?token$")
_SECRET_TOKEN = lazy_compile(
    r"(?:api|access|auth|bearer|hf|hub|bot|admin|refresh|csrf|xsrf|security|github|gitlab|registry|"
    r"private|personal|secret|wandb|slack|vault|npm|pypi|jwt|oauth2?|deploy|login)[_.-]?token$",
    re.I,
)
_HARMLESS_KEY = lazy_compile(
    r"(?:step|cache|hash|store|rank|sort|primary|foreign|partition|shard|lookup|dict|index|row|kernel|"
    r"compile|graph|program|op|tensor|param|state|feature|record|sample|object|barrier|missing|"
    r"unexpected|unknown|duplicate|duplicated|wrong|mismatched|extra|public|group|data|plan|rng|"
    r"autotune|idempotency|gpg|pgp|config|model|weight|job|task|node|no such|etcd|event|batch)"
    r"[ _.-]?(?:key|sig|sign)$",
    re.I,
)
_LOGIN_PASS = lazy_compile(
    r"(?:^|db|sql|pg|redis|mongo|smtp|mail|ftp|ssh|sudo|user|admin|root|login|proxy|ldap|mq|etcd|"
    r"es|http|basic|auth|svc|account)[_.-]?(?:pass|pw)$|redis(?:cli)?[_.-]?auth$",
    re.I,
)
_COMPILER_PASS = lazy_compile(r"(?:[a-z0-9A-Z]P|_p)ass\d*\Z")
_SECRET_VARIABLE = lazy_compile(rf"{SECRET_NAME}\Z", re.I)
_SUBSCRIPT = lazy_compile(
    r"""(?P<keep>\b(?:environ(?:\.(?:setdefault|get)\(\s*|\[)|(?:putenv|setenv|getenv)\(\s*)['"](?P<name>\w{1,100})['"]"""
    r"""(?:\]\s*=\s*|,\s*)[bruf]?(?P<quote>['"]))(?P<secret>(?:(?!(?P=quote))[^\\\n]|\\.)+)"""
)
_SET_VARIABLE = lazy_compile(
    rf"""(?P<keep>^\s{{0,40}}(?:setenv|set -[a-zA-Z]{{1,3}}|ENV|ARG|set|export)\s+"""
    rf"""(?P<name>[\w.-]{{0,60}}?{SECRET_NAME})"""
    r"""\s+(?P<quote>['"]?))(?P<secret>[^\s'"]+)""",
    re.I | re.M,
)
_UGI = lazy_compile(  # Hadoop's user,password
    r"""(?P<keep>(?:\b|[_.])ugi(?:\\?['"]?\]?\s*(?:=>|[:=：])|\()\s*\\?['"]?[\w.@/-]{1,80}\s?[,，]\s?)"""
    r"""(?P<secret>(?!(?:ip|cmd|src|dst|proto|auth|perm)=)[^\s'",;)\]}\\]{3,})""",
    re.I,
)
_FIRST = lazy_compile(r"[,;&)\]}]")
_QUOTES = ("", "'", '"', "\\'", '\\"', "']", '"]')
_DOTS = str.maketrans({"ı": "i", "\u0307": ""})
"""To a pattern that ignores case, an i is an i with or without its dot."""


def named_like_a_secret(name: str, secret: str, *, quoted: bool) -> bool:
    """Whether what is given to `name`, in small letters, is a secret. A flag begins with dashes."""
    if is_placeholder(secret) or not any(map(str.isalnum, secret)):
        return False
    if _HARMLESS_NAME.search(name) and not (_REFUSED.search(name) and is_drawn(secret, 20)):
        return False
    if not quoted and (is_code(secret, name) or is_placeholder(_FIRST.split(secret, 1)[0])):
        return False
    if name.endswith("pwd") and secret.startswith(("/", ".", "~")):
        return False
    is_password = name.endswith(("password", "passwd", "passphrase", "pwd", "bduss"))
    if is_number(secret):
        return is_password and len(secret) >= 4 and "." not in secret
    if not is_password and is_path(secret):
        return False
    if name.endswith(("token", "credential", "credentials", "ak", "sk")):
        if _SECRET_TOKEN.search(name):
            return is_mixed(secret, 8)
        if (quoted and name in ("ak", "sk")) or name in ("-token", "--token", "--ak", "--sk"):
            return is_mixed(secret, 8) and not is_name(secret)
        return is_drawn(secret) and " " not in secret  # "unexpected token: layer_31" is none
    if not quoted and is_prose(secret):
        return False
    return quoted or len(secret) >= (3 if is_password else 4)


def _is_named(found: re.Match[str]) -> bool:
    groups = found.groupdict()
    quoted = bool(groups.get("quote"))
    if groups.get("call") and is_code(found["call"]) and _is_name_of_a_setting(found["secret"]):
        return False  # `password=get_secret('db/password')`
    if quoted and _is_end_of_a_string(found):
        return False
    if "\n" in found["keep"] and not (quoted or is_mixed(found["secret"])):
        return False  # a question, and what came after it
    return named_like_a_secret(_whole_name(found).lower(), found["secret"], quoted=quoted)


def _is_name_of_a_setting(secret: str) -> bool:
    return is_name(secret) or (secret.isidentifier() and not is_mixed(secret))


def _is_end_of_a_string(found: re.Match[str]) -> bool:
    """`input('Password: ') or …`"""
    before = found.string[max(0, found.start("name") - 1) : found.start("name")]
    return before == found["quote"] and found["secret"].startswith(tuple("),+ ]}:;"))


def _is_set_by_a_call(found: re.Match[str]) -> bool:
    """`SecretKey("X")`, `set_password("X")`; not `get_password("name")`."""
    secret = found["secret"]
    if _ASKED_FOR.match(_whole_name(found).rpartition(".")[2]) or is_name(secret):
        return False
    return is_mixed(secret, 8) and " " not in secret and _is_named(found)


def _is_flagged(found: re.Match[str]) -> bool:
    name = _whole_name(found)
    return bool(_DASHES.match(name) or _AFTER_NUL.match(name)) and _is_named(found)


def _is_key(found: re.Match[str]) -> bool:
    """Whether a value is a key: names like `key` and `session` say little, it must look drawn by
    lot."""
    name, secret = _whole_name(found), found["secret"]
    if name.lower().endswith(("pass", "pw")):
        return _is_for_a_login(name, secret) and not _COMPILER_PASS.search(secret)
    if name.lower().endswith("auth") and _is_for_a_login(name, secret):
        return is_mixed(secret, 8)
    if name.lower().endswith("passcode"):
        return is_mixed(secret) or is_number(secret)
    start = found.start("name")
    before = found.string[max(0, start - 12) : start]
    if before[-1:].islower() and found["name"].islower() and found["name"] != "key":
        return False  # "design", "assign"
    if _HARMLESS_KEY.search(name) or _HARMLESS_KEY.search(before + str(found["name"])):
        return False
    return is_drawn(secret) and not is_path(secret)


def _is_for_a_login(name: str, secret: str) -> bool:
    """`db_pass`, or a variable of any program; passes of a compiler are called by words."""
    of_a_program = name.isupper() and "_" in name and not is_name(secret)
    return is_mixed(secret) and bool(of_a_program or _LOGIN_PASS.search(name))


def _is_variable(found: re.Match[str]) -> bool:
    name, secret = found["name"], found["secret"]
    if _LOGIN_PASS.search(name) and is_mixed(secret):
        return True
    if _SECRET_VARIABLE.search(name) and named_like_a_secret(name.lower(), secret, quoted=True):
        return True
    return not is_harmless(name) and is_drawn(secret)


def _whole_name(found: re.Match[str]) -> str:
    """What stands before the telling part belongs to the name: `MY_TOKEN`, `--hub-token`."""
    start = found.start("name")
    around = found.string[max(0, start - 60) : start]
    return around[len(around.rstrip(_NAME_CHARACTERS)) :] + str(found["name"])


def _where_assigned(names: tuple[str, ...], substitute: Substitute) -> Substitute:
    """Matches only in a text in which a colon or an equals sign follows one of the names."""
    marks = (":", "=", "：", "->", "＝", "为", "是", "成", "已", *_SET.split("|"))
    return _where_followed(names, tuple(q + m for q in _QUOTES for m in marks), "", substitute)


def _where_paired(names: tuple[str, ...], substitute: Substitute) -> Substitute:
    """Matches only in a text in which one of the names is quoted, and something follows."""
    return _where_followed(names, ("',", '",'), "", substitute)


def _where_flagged(names: tuple[str, ...], substitute: Substitute) -> Substitute:
    """Matches only in a text in which a value may follow one of the names."""
    return _where_followed(names, (" ", "',", '",', "\0", "\\x00", "\\0"), " ", substitute)


def _where_followed(
    names: tuple[str, ...], marks: tuple[str, ...], space: str, substitute: Substitute
) -> Substitute:
    """Nearly every message has a colon, and patterns of names take longer to compile than all else
    that is done to it. White space counts as `space`."""
    told = tuple(name + mark for name in names for mark in marks)

    def _substitute(text: str, mask: Mask) -> str:
        folded = space.join(text.casefold().translate(_DOTS).split())
        if not any(name in folded for name in names):
            return text
        return substitute(text, mask) if any(words in folded for words in told) else text

    return _substitute


NAMES: tuple[Rule, ...] = (
    (("ugi",), mask_groups(_UGI, lambda found: not is_placeholder(found["secret"]))),
    (
        ("=", ":", "：", "->", "＝", "为", "是", "成"),
        _where_assigned((*_SECRET_ENDS, "bduss_bfess"), mask_groups(_NAMED, _is_named)),
    ),
    (("(",), _where_paired(_SECRET_ENDS, mask_groups(_PAIRED, _is_named))),
    (("('", '("', "(b'", '(b"'), mask_groups(_CALLED, _is_set_by_a_call)),
    (("value",), mask_groups(_NAME_AND_VALUE, _is_named)),
    (("</",), mask_groups(_ELEMENT, _is_named)),
    (("|", "│", "┃"), mask_groups(_CELL, _is_named)),
    (("-",), _where_flagged(_FLAG_ENDS, mask_groups(_FLAG, _is_flagged))),
    (("=", ":", "：", "为", "是"), _where_assigned(_KEY_ENDS, mask_groups(_KEY_NAME, _is_key))),
    (("environ", "putenv", "setenv", "getenv"), mask_groups(_SUBSCRIPT, _is_variable)),
    (("setenv", "set ", "env ", "arg ", "export "), mask_groups(_SET_VARIABLE, _is_named)),
)
