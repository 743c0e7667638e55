"""Logs in a bucket. The S3 here is moto's server, a stand-in for the real one, on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import boto3
import fsspec
import pytest
from moto.server import ThreadedMotoServer

from pdtriage.sources import find
from pdtriage.sources.remote import backends, origin
from tests.sources.builders import TWO_NODES, as_zip, write_tree
from tests.sources.test_remote import LONG, told
from tests.sources.web import Web, serving


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(autouse=True)
def bucket(endpoint: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_CONFIG_FILE": str(tmp_path / "none"),
        "AWS_EC2_METADATA_DISABLED": "true",
        backends.TIMEOUT_VARIABLE: "5",
    }.items():
        monkeypatch.setenv(name, value)
    fsspec.get_filesystem_class("s3").clear_instance_cache()
    client = boto3.client("s3")
    client.create_bucket(Bucket="team")
    for name, content in TWO_NODES.items():
        client.put_object(Bucket="team", Key=f"runs/{name}", Body=content)
    client.put_object(Bucket="team", Key="big/workerlog.0", Body=LONG)
    client.put_object(Bucket="team", Key="a.zip", Body=as_zip(TWO_NODES))


def test_a_folder_of_a_bucket(tmp_path: Path) -> None:
    found = find(["s3://team/runs/job/"])
    expected = told(find([write_tree(tmp_path, TWO_NODES) / "job"]), "job")
    assert told(found, "s3://team/runs/job") == expected
    assert all(source.origin.version for source in found.sources)  # type: ignore[union-attr]


def test_a_large_object_comes_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(origin, "BLOCK", 1 << 20)
    [source] = find(["s3://team/big/workerlog.0"]).sources
    assert b"".join(source.chunks()) == LONG


@pytest.mark.parametrize("prefers_seeking", [True, False])
def test_an_archive(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, prefers_seeking: bool) -> None:
    monkeypatch.setattr(origin, "HOPS", 0 if prefers_seeking else 1 << 40)
    archive = write_tree(tmp_path, {"a.zip": as_zip(TWO_NODES)}) / "a.zip"
    assert told(find(["s3://team/a.zip"]), "s3://team/a.zip") == told(find([archive]), "a.zip")


def test_what_is_not_there() -> None:
    found = find(["s3://team/nothing/here", "s3://nobody/log"])
    assert found.missing == ("s3://team/nothing/here", "s3://nobody/log")
    assert found.sources == ()


def test_a_key_that_is_not_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Web({}, refused=frozenset({"team", "team/log"}))) as web:
        monkeypatch.setenv("AWS_ENDPOINT_URL", web.url)
        fsspec.get_filesystem_class("s3").clear_instance_cache()
        found = find(["s3://team/log"])
    assert "refused access" in found.notes[0].en
    assert max(web.asked.values()) == 1, "asked once, not again"


def test_a_storage_that_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "TRIES", 1)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    fsspec.get_filesystem_class("s3").clear_instance_cache()
    found = find(["s3://team/runs/job"])
    assert "did not answer" in found.notes[0].en
