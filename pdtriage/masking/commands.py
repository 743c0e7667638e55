"""Command lines and calls with a secret in its place: `sshpass -p X`, `oss2.Auth('ak', 'sk')`."""

from __future__ import annotations

import re

from pdtriage.masking.substitution import MASK, Mask, Rule, Substitute, mask_groups
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

_BETWEEN = r"[^\n|;]{0,200}?(?<=[\s'\"])"
"""Other words of the command; a list of arguments as Python shows it counts as well."""
_THEN = r"(?:[ \t]{1,8}|=|['\"],[ \t]{0,8}(?=['\"]))"
_VALUE = r"""['"]?(?P<secret>(?<=')[^'\n]+|(?<=")[^"\n]+|[^\s'"]+)"""
_LOGIN_TOOLS = r"docker|podman|nerdctl|buildah|skopeo|helm|oras|crane|az|oc|argocd|ctr|singularity"


def _after(tools: str, options: str, *, attached: bool = False, value: str = _VALUE) -> Substitute:
    """The value of an option of some tools; `attached`: without a blank, as `-pX`."""
    then = rf"(?:{_THEN}|(?=[^\s=-]))" if attached else _THEN
    return mask_groups(
        lazy_compile(
            rf"(?<![\w/.-])(?:/[\w/.-]{{1,80}}/)?(?:{tools})\b{_BETWEEN}(?:{options}){then}{value}"
        ),
        _is_word_of_a_command,
    )


def _is_word_of_a_command(found: re.Match[str]) -> bool:
    secret = found["secret"]
    if is_prose(secret) and found.string[found.end() : found.end() + 2].lstrip().isalpha():
        return False  # of the option, not its value
    return not (is_placeholder(secret) or secret.startswith(("-", "$")) or is_code(secret))


def _is_no_user_id(found: re.Match[str]) -> bool:
    return _is_word_of_a_command(found) and not is_number(found["secret"])


def _is_no_port(found: re.Match[str]) -> bool:
    """`docker run -u root -p 8080:80`, `ssh -u root -p 22`."""
    secret = found["secret"]
    return _is_word_of_a_command(found) and is_mixed(secret) and not _PORT.search(secret)


def _is_of_redis(found: re.Match[str]) -> bool:
    """In capitals as the command is sent; at the end of a line also what people make up."""
    secret = found["secret"]
    made_up = found["end"] is not None and is_mixed(secret, 8) and not is_name(secret)
    return is_drawn(secret, 6) or (made_up and not is_code(secret) and not secret.isupper())


def _is_behind_a_user(found: re.Match[str]) -> bool:
    """`login somebody/…` may be a page; `login with somebody / …` is none."""
    secret = found["secret"]
    is_apart = bool(found["apart"]) and is_mixed(secret) and not is_name(secret)
    return is_apart or is_drawn(secret, 10)


def _is_mixed_word(found: re.Match[str]) -> bool:
    return is_mixed(found["secret"], 8)


def _is_drawn_word(found: re.Match[str]) -> bool:
    return is_drawn(found["secret"])


_MYSQL = (
    r"(?:mysql|mysqldump|mysqladmin|mysqlimport|mysqlsh|mariadb(?:-dump)?|mycli|7z[ar]?|(?:un)?rar)"
)
_MYSQL_ATTACHED = lazy_compile(rf"\b{_MYSQL}\b{_BETWEEN}-p(?P<secret>[^\s'\"]+)")
_MYSQL_QUOTED = lazy_compile(rf"\b{_MYSQL}\b{_BETWEEN}-p['\"](?P<secret>[^'\"\s,]+)(?=['\"])")
_MYSQL_APART = lazy_compile(
    rf"\b{_MYSQL}\b{_BETWEEN}-p[ \t]{{1,8}}['\"]?(?P<secret>[^\s'\"-][^\s'\"]*)"
)
_USER = r"""['"]?[^\s:'"@/]{0,100}:(?!//)(?P<secret>(?<![\s])[^\s'"]+)"""
_USER_OPTION = lazy_compile(
    rf"""(?<=[\s'"])(?:--user|--proxy-user|--http-user|--auth){_THEN}{_USER}"""
)
_PIPED = lazy_compile(
    r"""\b(?:echo|printf)[ \t]{1,8}(?:-\w{1,3}[ \t]{1,8})?['"]?"""
    r"""(?:[\w.-]{1,64}:(?=[^\n|]{1,120}chpasswd))?"""
    r"""(?P<secret>(?<=')[^'\n]{1,120}|(?<=")[^"\n]{1,120}|[^\s'"|]{1,120})['"]?"""
    r"""[ \t]{0,8}\|[ \t]{0,8}"""
    r"""(?:sudo[ \t]{1,8}(?:-\w{1,4}[ \t]{1,8}){0,3}?(?:-S|chpasswd)\b|chpasswd\b|kinit\b|su\b|"""
    r"""passwd\b|[^\n]{0,120}?--(?:password-)?stdin\b)"""
)
_BY_PLACE = lazy_compile(
    r"""\b(?:wandb[ \t]{1,8}login|"""
    r"""mc[ \t]{1,8}(?:alias[ \t]{1,8}set|config[ \t]{1,8}host[ \t]{1,8}add)[ \t]{1,8}"""
    r"""\S{1,80}[ \t]{1,8}\S{1,200}|"""
    r"""aws[ \t]{1,8}configure[ \t]{1,8}set[ \t]{1,8}\w{1,60}(?:key|token|id)|"""
    r"""htpasswd[ \t]{1,8}-\w{0,6}b\w{0,6}[ \t]{1,8}\S{1,200}[ \t]{1,8}\S{1,100}|"""
    r"""rabbitmqctl[ \t]{1,8}(?:add_user|change_password)[ \t]{1,8}\S{1,100})[ \t]{1,8}"""
    r"""(?:--?\w[\w-]{0,30}[ \t]{1,8}){0,3}?"""
    r"""(?P<secret>[^\s'"-][^\s'"]*(?:[ \t]{1,8}[^\s'"-][^\s'"]*)?)"""
)
_AFTER_A_USER = lazy_compile(  # whatever the program: -u somebody -p something
    rf"""(?<=[\s'"])(?:-u|-U|--user(?:name)?){_THEN}['"]?(?![\w.-]{{1,80}}\.py\b)"""
    rf"""[\w.@+-]{{1,80}}['"]?,?[ \t]{{1,8}}['"]?(?:-p|-P){_THEN}{_VALUE}"""
)
_PORT = lazy_compile(r":[0-9]{1,5}(?:/\w+)?\Z")
_REMOTE_DESKTOP = lazy_compile(r"/u:[^\s/]{1,80}[ \t]{1,8}/p:(?P<secret>\S+)")
_CREDENTIALS = lazy_compile(rf"""(?<=[\s'"])--(?:[a-z]{{2,8}}-)?creds{_THEN}{_USER}""")
_VAULT_LOGIN = lazy_compile(
    r"\bvault[ \t]{1,8}login[ \t]{1,8}(?P<secret>[^\s'\"=-][^\s'\"=]*)(?=\s|$)"
)
_SLASHED = lazy_compile(
    r"\blog(?:ged[ \t])?(?:in|on)[ \t]{1,8}(?:(?:with|as|by|using)[ \t]{1,8})?[\w.@-]{1,64}"
    r"(?P<apart>[ \t]{1,4})?/(?(apart)[ \t]{1,4})(?P<secret>(?(apart)[^\s'\"]|[^\s'\"/@]){8,})",
    re.I,
)
_LOGIN_FLAG = lazy_compile(
    r"""(?<![\w-])--?[\w-]{0,30}?(?:redis|db|sql|pg|mongo|smtp|mail|ftp|ssh|ldap|bind|proxy|http|"""
    rf"""user|admin|root|login)[_-]?(?:pass|pw|auth){_THEN}{_VALUE}"""
)
_PAIR_OF_NAMES = lazy_compile(  # (ak, sk) = ('…', '…')
    r"""\b(?:ak|access[_ ]?key(?:_?id)?|user(?:name)?)[ \t]{0,4}[,/][ \t]{0,4}"""
    r"""(?:sk|secret(?:[_ ]?(?:access)?[_ ]?key)?|passw(?:or)?d|pwd)\b"""
    r"""[ \t)]{0,4}[:=][ \t(]{0,4}['"][^'"\n]{1,100}['"],[ \t]{0,4}['"](?P<secret>[^'"\n]{6,})""",
    re.I,
)
_LITERAL = lazy_compile(r"--from-literal[= ]['\"]?[\w.-]{1,100}=(?P<secret>[^\s'\"]+)")
_SQL = lazy_compile(
    r"\b(?:identified\s{1,8}(?:with\s{1,8}\S{1,60}\s{1,8})?by|password\s{0,8}\(|"
    r"(?:encrypted\s{1,8})?password\s{1,8})\s{0,8}(?P<quote>['\"])"
    r"(?P<secret>(?:(?!(?P=quote))[^\n])+)(?=(?P=quote))",
    re.I,
)
_AUTH_COMMAND = lazy_compile(
    r"(?P<keep>(?:^|[\s'\">])AUTH['\"]?[ \t,]{1,8}['\"]?)(?P<secret>[^\s'\"]{6,})"
    r"(?P<end>['\"]?[ \t]{0,8}$)?",
    re.M,
)
_PASS_WORD = lazy_compile(
    r"(?:(?<!-)-pass(?:in|out)?[ \t=]{1,8}(?:pass:)?|-(?:src|dest)?(?:store|key)pass[ \t=]{1,8})"
    r"(?!(?:file|env|fd|stdin)\b)['\"]?(?P<secret>[^\s'\"]+)"
)
_PGPASS = lazy_compile(
    r"^[\w.*-]{1,200}:(?:5432|\*):[\w.*-]{1,64}:[\w.*-]{1,64}:(?P<secret>\S+)$", re.M
)
_DIGEST = lazy_compile(
    r"\b(?:addauth|setAcl)\b[^\n]{0,120}?\bdigest[ \t:]{1,8}[\w.-]{1,64}:(?P<secret>[^\s'\":]+)"
)
_SMB = r"""['"]?[^\s%'"]{1,100}%(?P<secret>[^\s'"]+)"""
_LFTP = r"""['"]?[^\s,'"]{1,100},(?P<secret>[^\s'"]+)"""

_CALL = lazy_compile(
    r"""\b(?P<callable>(?:\w{1,40}\.){0,3}(?:Auth|AuthV[24]|StsAuth|ProviderAuthV?4?|BceCredentials|"""
    r"""HTTP(?:Basic|Digest|Proxy)Auth|BasicAuth|Credentials?|AcsClient|Minio|TosClientV2|ObsClient|"""
    r"""Aip[A-Z]\w{0,30}|StaticCredential\w{0,20}|basic_auth|(?:\w{1,20}_)?auth\s{0,2}=\s{0,2}))"""
    r"""\((?P<arguments>[^()\n]{1,600})"""
)
_LOGIN = lazy_compile(
    r"""(?P<callable>(?:\b(?:\w{1,40}\.){1,3}|(?<=\))\.)(?:login|connect|authenticate|auth|username_pw_set))\((?P<arguments>[^()\n]{1,600})"""
)
_AUTH_CALL = lazy_compile(
    r"""\.auth\([bru]?(?P<quote>['"])(?P<secret>[^'"\n]{8,100})(?=(?P=quote)\))"""
)
_FTP = lazy_compile(r"""\b(?P<callable>FTP(?:_TLS)?)\((?P<arguments>[^()\n]{1,600})""")
_ARGUMENT = lazy_compile(
    r"""(?P<keyword>\b\w{1,40}\s{0,2}=\s{0,2})?[bruf]?(?:'(?P<one>[^'\n]*)'|"(?P<two>[^"\n]*)"|(?P<bare>[\w+/=.:-]+))"""
)
_PLACE = lazy_compile(
    r"(?:https?://|[\w-]+(?:\.[\w-]+){1,8}(?::\d+)?/?\Z|(?:cn|us|ap|eu|sa|me|af|ca)-[a-z]+(?:-\d)?\Z)"
)
_HARMLESS_KEYWORDS = (
    "endpoint",
    "region",
    "secure",
    "host",
    "port",
    "user",
    "timeout",
    "db",
    "server",
)


def _mask_calls(pattern: re.Pattern[str], first: int) -> Substitute:
    """Strings among the arguments from the one numbered `first`; addresses and regions stay."""

    def _substitute(text: str, mask: Mask) -> str:
        def _one(found: re.Match[str]) -> str:
            number = -1

            def _argument(word: re.Match[str]) -> str:
                nonlocal number
                number += 1
                keyword = (word["keyword"] or "").lower()
                value = word["one"] if word["one"] is not None else word["two"]
                bare = value is None
                value = word["bare"] if bare else value
                if number < first and not keyword and not is_drawn(value):
                    return word.group()
                if keyword.startswith(_HARMLESS_KEYWORDS) or MASK in value or len(value) < 3:
                    return word.group()
                if is_placeholder(value) or _PLACE.match(value) or is_path(value):
                    return word.group()
                if (bare or keyword) and not is_drawn(value):
                    return word.group()  # a variable; keywords have names, which tell
                return word.group().replace(value, mask(value), 1)

            arguments: str = found["arguments"]
            start = found.start("arguments") - found.start()
            return found.group()[:start] + _ARGUMENT.sub(_argument, arguments)

        return pattern.sub(_one, text)

    return _substitute


_FILE_SYSTEM = lazy_compile(  # client.init('afs://…', user, password)
    r"""\(['"](?:afs|hdfs)://[^'"\n]{1,200}['"],\s{0,8}['"][^'"\n]{1,100}['"],\s{0,8}"""
    r"""['"](?P<secret>[^'"\n]+)(?=['"])"""
)
_FILE_SYSTEM_LOGIN = lazy_compile(  # dataset.set_hdfs_config('afs://…', 'user,password')
    r"""(?:\(['"](?:afs|hdfs)://[^'"\n]{1,200}['"]|\bset_hdfs_config\([^'"\n]{1,80}),\s{0,8}"""
    r"""['"][\w.@/-]{1,80},(?P<secret>[^'"\n]{3,})(?=['"])"""
)
_UGI_OPTION = lazy_compile(
    rf"""(?<![\w-])--?[\w.-]{{0,40}}ugi{_THEN}['"]?[\w.@/-]{{1,80}},(?P<secret>[^\s'",]{{3,}})"""
)
_EXPECT = lazy_compile(
    r"""\bexpect\b[^\n]{0,40}?(?:assword|assphrase)[^\n]{0,20}?\bsend[ \t]{1,8}(?:--[ \t]{1,8})?"""
    r"""['"](?P<secret>[^'"\n\\]+)""",
    re.I,
)
_ORACLE = lazy_compile(r"(?:\bsqlplus[ \t]{1,8}|:thin:)[\w.-]{1,64}/(?P<secret>[^\s'\"/]+)(?=@)")
_HERE_STRING = lazy_compile(
    r"\b(?:kinit|sudo|passwd|su|login|chpasswd)\b[^\n|;]{0,80}?<<<"
    r"[ \t]{0,8}['\"]?(?P<secret>[^\s'\"]+)"
)


COMMANDS: tuple[Rule, ...] = (
    (("sshpass",), _after("sshpass", "-p", attached=True)),
    (
        ("curl", "wget", "http"),
        _after("curl|wget|https?|httpie", "-u|-U|-a", attached=True, value=_USER),
    ),
    (("--user", "-user", "--auth"), mask_groups(_USER_OPTION, _is_no_user_id)),
    (
        ("mysql", "mariadb", "mycli", "7z", "rar"),
        mask_groups(_MYSQL_ATTACHED, _is_word_of_a_command),
    ),
    (("mysql", "mariadb", "mycli", "7z", "rar"), mask_groups(_MYSQL_QUOTED, _is_word_of_a_command)),
    (("mysql", "mariadb"), mask_groups(_MYSQL_APART, _is_drawn_word)),
    (("redis-cli", "valkey-cli"), _after("redis-cli|valkey-cli", "-a|--pass")),
    (
        ("mongo",),
        _after(r"mongo(?:sh|dump|restore|export|import)?", "-p|--password", attached=True),
    ),
    (("beeline", "cqlsh", "influx"), _after("beeline|cqlsh|influx", "-p|-password")),
    (("login",), _after(rf"(?:{_LOGIN_TOOLS})\b[^\n|;]{{0,80}}?\blogin", "-p|--password")),
    (
        ("sqlcmd", "bcp", "ipmitool", "zip"),
        _after("sqlcmd|bcp|ipmitool|unzip|zip", "-P", attached=True),
    ),
    (("ldap",), _after("ldap(?:search|add|modify|delete|whoami|passwd)", "-w")),
    (("smbclient", "rpcclient"), _after("smbclient|rpcclient", "-U", attached=True, value=_SMB)),
    (("lftp",), _after("lftp", "-u", value=_LFTP)),
    (("swanlab",), _after(r"swanlab[ \t]{1,8}login", "-k|--api-key|-a")),
    (
        ("ossutil", "obsutil", "coscmd", "bcecmd"),
        _after(r"ossutil(?:64)?|(?:obsutil|coscmd|bcecmd)[ \t]{1,8}config", "-k|-s"),
    ),
    (
        ("ossutil", "obsutil", "coscmd", "bcecmd"),
        _after(r"(?:ossutil64|ossutil|obsutil|coscmd|bcecmd)[ \t]{1,8}config", "-i|-a"),
    ),
    (("openssl",), _after(r"openssl[ \t]{1,8}enc", "-k")),
    (("afs://", "hdfs://"), mask_groups(_FILE_SYSTEM, _is_word_of_a_command)),
    (
        ("afs://", "hdfs://", "set_hdfs_config"),
        mask_groups(_FILE_SYSTEM_LOGIN, _is_word_of_a_command),
    ),
    (("ugi",), mask_groups(_UGI_OPTION, _is_word_of_a_command)),
    (("expect",), mask_groups(_EXPECT, _is_word_of_a_command)),
    (("echo", "printf"), mask_groups(_PIPED, _is_word_of_a_command)),
    (
        ("wandb", "mc ", "aws ", "htpasswd", "rabbitmqctl"),
        mask_groups(_BY_PLACE, _is_word_of_a_command),
    ),
    (("--from-literal",), mask_groups(_LITERAL, _is_word_of_a_command)),
    (("identified", "password"), mask_groups(_SQL, _is_word_of_a_command)),
    (("auth",), mask_groups(_AUTH_COMMAND, _is_of_redis)),
    (("pass",), mask_groups(_PASS_WORD, _is_word_of_a_command)),
    (("sqlplus", ":thin:"), mask_groups(_ORACLE, _is_word_of_a_command)),
    (("addauth", "setacl"), mask_groups(_DIGEST, _is_word_of_a_command)),
    (("-u", "--user"), mask_groups(_AFTER_A_USER, _is_no_port)),
    (("/p:",), mask_groups(_REMOTE_DESKTOP, _is_word_of_a_command)),
    (("creds",), mask_groups(_CREDENTIALS, _is_word_of_a_command)),
    (("login", "logon", "logged "), mask_groups(_SLASHED, _is_behind_a_user)),
    (("pass", "pw", "auth"), mask_groups(_LOGIN_FLAG, _is_mixed_word)),
    (("ak", "access", "user"), mask_groups(_PAIR_OF_NAMES, _is_word_of_a_command)),
    (("snmp",), _after(r"snmp[a-z]{2,12}", "-A|-X")),
    (("ssh-keygen",), _after("ssh-keygen", "-N|-P")),
    (("plink", "pscp", "psftp"), _after("plink|pscp|psftp", "-pw")),
    (("hadoop",), _after(r"hadoop[ \t]{1,8}credential[ \t]{1,8}create", "-value")),
    (("vault",), mask_groups(_VAULT_LOGIN, lambda found: is_mixed(found["secret"], 8))),
    (("useradd", "usermod"), _after("useradd|usermod", "-p|--password")),
    (
        ("login",),
        _after(r"(?:huggingface-cli|hf|modelscope|aistudio)\b[^\n|;]{0,80}?\blogin", "--token"),
    ),
    (("<<<",), mask_groups(_HERE_STRING, _is_word_of_a_command)),
    ((":5432:", ":*:"), mask_groups(_PGPASS, _is_word_of_a_command)),
    (("auth", "credential", "acsclient", "minio", "client", "aip"), _mask_calls(_CALL, 0)),
    (("login(", "connect(", "authenticate(", "auth(", "pw_set("), _mask_calls(_LOGIN, 1)),
    (("auth(",), mask_groups(_AUTH_CALL, _is_mixed_word)),
    (("ftp(", "ftp_tls("), _mask_calls(_FTP, 2)),
)
