"""Two hundred secrets of twenty-five kinds, drawn by lot, each in a line as logs show them.

They are put together here, so that no scanner of repositories takes them for real ones.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from random import Random
from string import ascii_letters, ascii_uppercase, digits

EACH = 8
_ALNUM = ascii_letters + digits
_URLSAFE = _ALNUM + "-_"
_HEX = "0123456789abcdef"

Planted = tuple[str, str]
"""The line, and the part of it that nobody may see."""


def planted() -> dict[str, list[Planted]]:
    lot = Random(20240607)
    return {kind: [make(lot) for _ in range(EACH)] for kind, make in KINDS.items()}


def _drawn(lot: Random, letters: str, number: int) -> str:
    """At least one digit, one small letter and, if there are any, one capital."""
    must = [lot.choice(digits), lot.choice([c for c in letters if c.islower()] or list(letters))]
    must += [lot.choice(ascii_uppercase)] if ascii_uppercase in letters else []
    drawn = must + [lot.choice(letters) for _ in range(number - len(must))]
    lot.shuffle(drawn)
    return "".join(drawn)


def _with(pattern: str, letters: str, number: int) -> Callable[[Random], Planted]:
    def _make(lot: Random) -> Planted:
        secret = _drawn(lot, letters, number)
        return pattern.replace("SECRET", secret), secret

    return _make


def _private_key(lot: Random) -> Planted:
    body = b64encode(lot.randbytes(192)).decode()
    rows = "\n".join(body[at : at + 64] for at in range(0, len(body), 64))
    return f"-----BEGIN RSA PRIVATE KEY-----\n{rows}\n-----END RSA PRIVATE KEY-----", body[:40]


def _basic(lot: Random) -> Planted:
    secret = b64encode(f"bob:{_drawn(lot, _ALNUM, 16)}".encode()).decode()
    return f"proxy said no: Authorization: Basic {secret}", secret


def _environment(lot: Random) -> Planted:
    secret = _drawn(lot, _ALNUM, 14)
    return (
        "environ({'HOME': '/root', 'PATH': '/bin', 'LANG': 'C', 'TEAM_PHRASE': '" + secret + "', "
        "'TERM': 'xterm', 'SHLVL': '1', 'PADDLE_TRAINER_ID': '0'})",
        secret,
    )


KINDS: dict[str, Callable[[Random], Planted]] = {
    "amazon-id": _with("using AK" + "IASECRET", ascii_uppercase + digits, 16),
    "amazon-secret": _with("aws_secret_access_key=SECRET", _ALNUM + "/+", 40),
    "alibaba-id": _with("oss: LTAISECRET rejected", _ALNUM, 20),
    "tencent-id": _with("cos: AKIDSECRET rejected", _ALNUM, 32),
    "baidu-id": _with("bos: ALTAKSECRET rejected", _ALNUM, 20),
    "azure-key": _with("AccountName=x;AccountKey=SECRET==;EndpointSuffix=y", _ALNUM + "+/", 86),
    "google-key": _with("maps?AIzaSECRET", _URLSAFE, 35),
    "github": _with("remote: gh" + "p_SECRET denied", _ALNUM, 36),
    "gitlab": _with("glpat-SECRET", _URLSAFE, 20),
    "huggingface": _with("401 for hf_SECRET", _ALNUM, 34),
    "openai": _with("Incorrect API key provided: sk-proj-SECRET", _ALNUM, 48),
    "slack": _with("xox" + "b-123456789012-SECRET", _ALNUM, 24),
    "slack-hook": _with("POST https://hooks.slack.com/services/T0AB1/B0CD2/SECRET", _ALNUM, 24),
    "json-web-token": _with("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SECRET", _URLSAFE, 43),
    "bearer": _with("{'Authorization': 'Bearer SECRET'}", _ALNUM, 32),
    "basic": _basic,
    "cookie": _with("Set-Cookie: sid=SECRET; Path=/", _ALNUM, 26),
    "url": _with("cannot clone https://bob:SECRET@git.example/x.git", _ALNUM, 12),
    "database": _with("redis://:SECRET@10.0.0.3:6379/0", _ALNUM, 16),
    "presigned": _with("GET https://b.example/o?X-Amz-Signature=SECRET&x=1", _HEX, 64),
    "password": _with("login(user='bob', password='SECRET')", _ALNUM + "!$%", 10),
    "flag": _with("['train.py', '--api-key', 'SECRET']", _ALNUM, 32),
    "variable": _with("WANDB_API_KEY=SECRET", _HEX, 40),
    "private-key": _private_key,
    "environment": _environment,
}
