"""Hooks of mkdocs: the README is the first page, and links that leave docs/ are words.

Which host the project's own files can be read at is not known here; `make site` fails where a link
inside the documentation leads nowhere.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
FIRST_PAGES = {"README.md": "index.md", "README.zh.md": "index.zh.md"}
_LINK = re.compile(r"\[([^\]]*)\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)")


def on_files(files: Any, config: Any) -> Any:
    for source, name in FIRST_PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """`page` is known by its path below docs/, the links in it by that in the repository."""
    name = page.file.src_uri
    source = next((first for first, made in FIRST_PAGES.items() if made == name), f"docs/{name}")

    def rewritten(match: re.Match[str]) -> str:
        words, path, anchor = match[1], match[2], match[3] or ""
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        inside = FIRST_PAGES.get(target) or target.removeprefix("docs/")
        if target not in FIRST_PAGES and not target.startswith("docs/"):
            return f"{words} (`{target}`)" if target not in words else words
        if (ROOT / target).is_dir():
            inside = f"{inside}/README.md"
            if not (ROOT / target / "README.md").exists():
                return f"{words} (`{target}`)"
        return f"[{words}]({posixpath.relpath(inside, posixpath.dirname(name) or '.')}{anchor})"

    return _LINK.sub(rewritten, markdown)
