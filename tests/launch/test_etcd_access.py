"""An etcd that speaks TLS, asks for a certificate, a user and a password: a real one does."""

from __future__ import annotations

import base64
import datetime
import ipaddress
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from pdtriage.launch.elastic.etcd import Etcd, EtcdAwayError, EtcdRefusedError
from pdtriage.launch.options.elastic import EtcdAccess
from pdtriage.launch.options.parse import parse_flags

from ..doctor.conftest import Machine
from ..etcd import RealEtcd, access_with, running_etcd
from ..running import wait_until
from .conftest import Launcher
from .elastic import ElasticJob, check_worlds

ROOT, USER = ("root", "of the root 0"), ("trainer", "Pa55-of-the-trainer")
JOB = "guarded"
MAY = ("/pdtriage/guarded/", "/paddle/guarded", "/guarded/")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Signed by itself: server, client and authority in one; etcd allows clients no common name
    where it asks for passwords."""
    return make_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture(scope="module")
def guarded(
    tmp_path_factory: pytest.TempPathFactory, certificate: tuple[Path, Path]
) -> Iterator[RealEtcd]:
    with running_etcd(tmp_path_factory.mktemp("etcd"), certificate) as place:
        ask_for_passwords(place.client(60))
        place.access = access_with(certificate, *ROOT)
        yield place


def make_certificate(folder: Path) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, "tests")])
    begin = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=1)
    addresses = [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + datetime.timedelta(days=9))
        .add_extension(x509.SubjectAlternativeName(addresses), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    plain = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    paths = (folder / "etcd.pem", folder / "etcd.key")
    paths[0].write_bytes(made.public_bytes(pem))
    paths[1].write_bytes(key.private_bytes(pem, *plain))
    return paths


def ask_for_passwords(root: Etcd) -> None:
    """From now on; the user may read and write the keys of one job."""
    for name, password in (ROOT, USER):
        root._post("auth/user/add", {"name": name, "password": password})
        root._post("auth/role/add", {"name": name})
        root._post("auth/user/grant", {"user": name, "role": name})
    for prefix in MAY:
        first, end = prefix.encode(), prefix[:-1].encode() + bytes([ord(prefix[-1]) + 1])
        keys = {"key": _bytes(first), "range_end": _bytes(end)}
        root._post("auth/role/grant", {"name": USER[0], "perm": {"permType": 2, **keys}})
    root._post("auth/enable", {})


def _bytes(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def client(place: RealEtcd, access: EtcdAccess) -> Etcd:
    return Etcd(place.host, place.port, 10.0, access)


def test_who_has_the_password_gets_in(guarded: RealEtcd, certificate: tuple[Path, Path]) -> None:
    known = client(guarded, access_with(certificate, *USER))
    lease = known.grant(30)
    assert known.write({"/pdtriage/guarded/a": "1"}, lease=lease)
    known.keep(lease)
    assert known.read("/pdtriage/guarded/").entries["/pdtriage/guarded/a"].value == "1"
    news = known.another().changes("/pdtriage/guarded/a", "/pdtriage/guarded/b", silence=60)
    next(news)
    assert known.write({"/pdtriage/guarded/a": "2"}, lease=lease)
    next(news)
    with pytest.raises(EtcdRefusedError, match="permission denied"):
        known.read("/another/")
    with pytest.raises(EtcdAwayError, match="refused"):
        next(known.another().changes("/another/a", "/another/b", silence=60))
    guarded.end()
    guarded.start()
    assert known.read("/pdtriage/guarded/").entries, "its token was forgotten meanwhile"
    known.revoke(lease)


def test_who_has_not_is_told_so(
    guarded: RealEtcd, certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    for wrong in ((), (USER[0], "a guess"), ("nobody", USER[1])):
        with pytest.raises(EtcdRefusedError):
            client(guarded, access_with(certificate, *wrong)).read("/pdtriage/guarded/")
    for access, why in (
        (EtcdAccess(), "speaks TLS"),
        (EtcdAccess(ca=str(certificate[0])), "asks for a certificate"),
        (access_with(make_certificate(tmp_path), *USER), "its certificate is not trusted"),
    ):
        with pytest.raises(EtcdAwayError, match=why):
            client(guarded, access).version()


def test_a_whole_job_behind_a_password(
    launcher: Launcher, guarded: RealEtcd, certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    (tmp_path / "password").write_text(USER[1] + "\n")
    job = ElasticJob(launcher, guarded, size="1:2", timeout=20, ttl=20, name=JOB)
    flags = [f"--etcd-ca={certificate[0]}", f"--etcd_cert={certificate[0]}"]
    flags += [f"--etcd_key={certificate[1]}", f"--etcd_user={USER[0]}"]
    first = job.add(*flags, f"--etcd_password=@{tmp_path / 'password'}")
    job.await_world(1, seconds=60)
    second = job.add(*flags, "--etcd_password", USER[1])
    job.await_world(2, seconds=60)
    guarded.end()
    guarded.start()
    members = client(guarded, access_with(certificate, *USER))
    assert wait_until(lambda: len(members.read(f"/pdtriage/{JOB}/members/").entries) == 2)
    job.finish()
    assert (first.finish().code, second.finish().code) == (0, 0), first.err + second.err
    check_worlds(first, second)
    for node in (first, second):
        written = [path.read_text() for path in node.log_dir.rglob("*") if path.is_file()]
        assert not any(USER[1] in text for text in (node.out, node.err, *written))


def test_a_wrong_password_is_refused_at_once(
    launcher: Launcher, guarded: RealEtcd, certificate: tuple[Path, Path]
) -> None:
    job = ElasticJob(launcher, guarded, timeout=300, name=JOB)
    flags = [f"--etcd_ca={certificate[0]}", f"--etcd_cert={certificate[0]}"]
    flags += [f"--etcd_key={certificate[1]}", f"--etcd_user={USER[0]}"]
    node = job.add(*flags, "--etcd_password=a guess")
    assert node.finish().code == 2
    assert "does not let this job in: etcdserver: authentication failed" in node.err
    assert "a guess" not in node.err


def test_the_doctor_says_what_is_wrong(
    guarded: RealEtcd, certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    machine = Machine(tmp_path / "root", tmp_path)
    machine.limits()
    words = ["--nnodes=2:4", f"--job_id={JOB}", f"--master={guarded.url}"]
    assert "speaks TLS" in machine.look("elastic-etcd", *words).seen.en
    words += [f"--etcd_ca={certificate[0]}", f"--etcd_cert={certificate[0]}"]
    words += [f"--etcd_key={certificate[1]}"]
    assert "does not let us in" in machine.look("elastic-etcd", *words).seen.en
    words += [f"--etcd_user={USER[0]}", f"--etcd_password={USER[1]}"]
    assert machine.look("elastic-etcd", *words).status == "ok"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--etcd_user=a",), "--etcd_user and --etcd_password need each other"),
        (("--etcd_cert=a", "--etcd_ca=b"), "--etcd_cert and --etcd_key need each other"),
        (("--etcd_cert=a", "--etcd_key=b"), "--etcd_cert and --etcd_ca need each other"),
        (("--etcd_ca=nowhere.pem",), "nowhere.pem cannot be read: No such file"),
        (("--etcd_user=a", "--etcd_password=@nowhere"), "nowhere cannot be read: No such file"),
        (("--launcher=paddle", "--etcd_user=a", "--etcd_password=b"), "cannot log in to an etcd"),
    ],
)
def test_what_is_missing_is_said(launcher: Launcher, words: tuple[str, ...], why: str) -> None:
    node = launcher.run("--master=etcd://127.0.0.1:1", "--job_id=j", *words, "act.py")
    assert (node.code, why in node.err) == (2, True), node.err


def test_a_password_is_shown_nowhere() -> None:
    typed = ["--etcd_user=me", "--etcd-pass", "Xy-9", "--etcd_password=Xy-9", "train.py"]
    flags = parse_flags(typed, {})
    assert "Xy-9" not in repr(flags)
    assert flags.argv == (
        *("--etcd_user=me", "--etcd-pass", "***", "--etcd_password=***", "train.py"),
    )
    assert flags.password.reveal() == "Xy-9"
    by_variable = parse_flags(["train.py"], {"PDTRIAGE_ETCD_PASSWORD": "Xy-9"})
    assert (by_variable.notes, by_variable.password.reveal()) == ((), "Xy-9")
    assert "Xy-9" not in repr(by_variable)
