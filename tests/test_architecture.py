"""The contract of the house: a room imports only rooms below it, and the map shows them all."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "pdtriage"
ROOMS = [
    "support",
    "model",
    "masking",
    "record",
    "hang",
    "knowledge",
    "sources",
    "scan",
    "reading",
    "runs",
    "verdict",
    "report",
    "analysis",
    "history",
    "notify",
    "launch",
    "live",
    "doctor",
    "collect",
    "demo",
    "commands",
]
"""From the bottom. What is executed (`__main__`) belongs to the commands, wherever it lies."""

SMALL = {
    "mapping": "a public name of earlier versions",
    "support/fast_namedtuple": "all rooms use it",
    "support/language": "all rooms use it",
    "support/number_spans": "rooms from the verdict to the terminal use it",
    "support/parent": "rooms that start processes use it",
    "support/systems": "asked before anything else is imported",
    "support/zstd": "three rooms use it, where Python or a package has it",
    "model/notebook": "imported when a notebook shows a report",
    "masking/substitution": "the modules with patterns stand on it",
    "hang/inside/sitecustomize": "runs in the processes of the job, which import nothing of ours",
    "sources/remote/known_hosts": "imported where paramiko is installed and used",
    "reading/codec": "msgspec, on whose import small folders do not wait",
    "verdict/fingerprint": "three stages ask for it",
    "history/phrases": "text, page and remark say the same words",
    "launch/console/debug_lines": "imported with --log_level DEBUG",
    "launch/elastic/etcd_watch": "a thread of its own",
    "live/publish": "the reader's process and two verbs",
    "commands/launch_checks": "imported when the trainers run already",
}
"""Modules below 60 lines, and why they are files of their own."""


def test_every_room_has_its_place() -> None:
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} == set(ROOMS)


def test_a_room_imports_only_rooms_below_it() -> None:
    upward = {
        (module, imported)
        for path in PACKAGE.glob("*/**/*.py")
        if path.name != "__main__.py"
        for module in [_module(path)]
        for imported in _rooms_imported(path)
        if ROOMS.index(imported) > ROOMS.index(module.split(".")[0])
    }
    assert not upward


def test_rooms_take_nothing_from_the_package_but_its_version() -> None:
    """What it offers to others comes from rooms that may be above."""
    own = {"__version__", "__file__"}
    for path in PACKAGE.glob("*/**/*.py"):
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.ImportFrom) and node.module == "pdtriage":
                assert {alias.name for alias in node.names} <= own, path
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                assert node.value.id != "pdtriage" or node.attr in own, path


def test_no_class_has_the_name_of_another() -> None:
    classes = [node.name for node in _definitions() if isinstance(node, ast.ClassDef)]
    public = [name for name in classes if not name.startswith("_")]
    assert sorted({name for name in public if public.count(name) > 1}) == []


def test_no_module_has_the_name_of_another() -> None:
    """Verbs and families of checks are called like what they are about, which stands elsewhere."""
    own = {PACKAGE / "commands", PACKAGE / "doctor" / "checks"}
    paths = [path for path in PACKAGE.rglob("*.py") if path.parent not in own]
    names = [path.stem for path in paths if not path.stem.startswith("__")]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_no_public_function_has_the_name_of_another() -> None:
    """Verbs are called like what they do, which stands elsewhere, and processes have one way in."""
    paths = [path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE / "commands"]
    names = [
        node.name
        for path in paths
        for node in _tree(path).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    ]
    ways_in = {"main", "serve", "run"}
    assert sorted({name for name in names if names.count(name) > 1} - ways_in) == []


def test_a_small_module_has_a_reason() -> None:
    """What is shorter than that stands in the file of its subject, if it has one."""
    paths = [path for path in PACKAGE.rglob("*.py") if not path.stem.startswith("__")]
    small = {
        path.relative_to(PACKAGE).with_suffix("").as_posix()
        for path in paths
        if len(path.read_text(encoding="utf-8").splitlines()) < 60
    }
    assert small == SMALL.keys()


def test_names_are_words_of_the_field() -> None:
    private = {"told", "said", "heard", "shown", "kept", "asked", "place", "found", "begun", "obey"}
    names = [node.name for node in _definitions()] + [path.stem for path in PACKAGE.rglob("*.py")]
    words = {name: {word.lower() for word in re.findall("[A-Z]?[a-z]+", name)} for name in names}
    assert not [name for name in names if private & words[name]]


def test_what_people_are_told_of_a_failure_has_one_class() -> None:
    """An exception with words in both languages is a `UserError`; it is shown in one place."""
    classes = {node.name: node for node in _definitions() if isinstance(node, ast.ClassDef)}
    known = {"Exception", "OSError", "ValueError", "RuntimeError"}
    of_users = {"UserError"}
    for _ in classes:
        known |= {name for name, node in classes.items() if _bases(node) & known}
        of_users |= {name for name, node in classes.items() if _bases(node) & of_users}
    assert len(of_users) > 1
    speaking = {name for name in known & classes.keys() if "Text" in ast.dump(classes[name])}
    assert speaking - of_users == set()


def test_a_launch_does_not_read_its_own_record() -> None:
    """What it saw is written once; whoever needs it meanwhile has it from memory."""
    paths = [*PACKAGE.glob("launch/**/*.py"), *PACKAGE.glob("live/**/*.py")]
    assert [path.name for path in paths if "record.reader" in path.read_text("utf-8")] == []


def test_the_command_line_keeps_to_its_budget() -> None:
    """What reads words and tells typer; flags, verbs and options are declared elsewhere.

    Lines of code: blank ones, comments and docstrings make it longer and easier to read.
    """
    machinery = ["__main__", "support/command_line", "launch/options/parse", "commands/app"]
    files = [PACKAGE / f"{name}.py" for name in machinery]
    assert sum(map(_lines_of_code, files)) <= 600
    knowing = {path for path in PACKAGE.rglob("*.py") if "import typer" in path.read_text("utf-8")}
    assert knowing == {PACKAGE / "commands/app.py"}


def test_the_map_names_every_room() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = [path.parent.relative_to(PACKAGE) for path in PACKAGE.glob("*/__init__.py")]
    subrooms = [path.parent.relative_to(PACKAGE) for path in PACKAGE.glob("launch/*/__init__.py")]
    assert [room for room in [*rooms, *subrooms] if f"| `{room}/` | " not in page] == []


def test_the_map_shows_every_file_of_a_larger_room() -> None:
    """More than fifteen, in which nobody finds anything by looking at their names alone."""
    parts = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").split("\n**`")
    mapped = {part.partition("/`**")[0]: part.partition("\n\n")[0] for part in parts[1:]}
    for room in PACKAGE.glob("**/__init__.py"):
        files = {path.name for path in room.parent.glob("*.py")} - {"__init__.py", "__main__.py"}
        if len(files) > 15 and room.parent != PACKAGE:
            shown = re.findall(r"`(\w+\.py)`", mapped[room.parent.relative_to(PACKAGE).as_posix()])
            assert sorted(shown) == sorted(files), room


def test_every_module_on_the_map_exists() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    room = ""
    for line in page.splitlines():
        row = re.match(r"\| `(\S+)/` \|", line)
        heading = re.match(r"\*\*`(\S+)/`\*\*", line)
        room = heading[1] if heading else row[1] if row else room if line[:2] == "- " else ""
        homes = [ROOT, PACKAGE, PACKAGE / room]
        for name in re.findall(r"`([\w/]+\.py)`", line):
            assert any((home / name).is_file() for home in homes), name


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _lines_of_code(path: Path) -> int:
    source = path.read_text(encoding="utf-8")
    words = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    ]
    told = {n for node in words for n in range(node.lineno, (node.end_lineno or 0) + 1)}
    lines = enumerate(source.splitlines(), 1)
    return sum(n not in told and bool(line.split("#")[0].strip()) for n, line in lines)


def _definitions() -> Iterator[ast.ClassDef | ast.FunctionDef]:
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                yield node


def _bases(node: ast.ClassDef) -> set[str]:
    return {base.id for base in node.bases if isinstance(base, ast.Name)}


def _module(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


def _rooms_imported(path: Path) -> Iterator[str]:
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: imports are absolute"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names = re.findall(r"^pdtriage\.\w+(?=[.:]|$)", node.value)  # for `import_module`
        else:
            continue
        for name in names:
            package, _, rest = name.partition(".")
            room = rest.partition(".")[0]
            if package == "pdtriage" and room in ROOMS:
                yield room
