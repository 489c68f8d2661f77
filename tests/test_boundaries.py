"""The layout holds, and each of its rules is able to fail."""

import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

from hermes_chatto.scripts import boundaries

ROOT = Path(__file__).resolve().parent.parent
FILES = boundaries.python_files(ROOT)
PACKAGED = [path for path in FILES if path.parts[0] != "scripts"]

SKIPPED_FOLDERS = {"__pycache__", "build", "dist", "probes", "cases", "node_modules"}
FORBIDDEN = (
    # Each is cut in two, so that this file does not contain what it looks for.
    *("pypi" + ".org", "python" + "hosted", "registry" + ".npmjs", "--index" + "-url"),
    *("--find" + "-links", "/wo" + "rk/", "/t" + "mp/lab", "/ro" + "ot/", "/opt/" + "wheels"),
)
HOME_FOLDER = re.compile("/(home|Users)/" + r"(?!you\b|me\b)\w+")


def source(path: PurePosixPath) -> str:
    """Return a file's text."""
    return (ROOT / path).read_text(encoding="utf-8")


def in_file(name: str) -> PurePosixPath:
    """Return a path that need not exist."""
    return PurePosixPath(name)


def each(paths: list[PurePosixPath]) -> pytest.MarkDecorator:
    """Run a test once per file."""
    return pytest.mark.parametrize("path", paths, ids=str)


@each(FILES)
def test_file_imports_only_what_its_layer_may(path: PurePosixPath) -> None:
    """The table of layers is the architecture."""
    assert boundaries.broken_imports(source(path), path) == []


@each(PACKAGED)
def test_module_holds_no_state(path: PurePosixPath) -> None:
    """A second profile loads a second copy of every module: state in one is state in neither."""
    assert boundaries.hidden_state(source(path), path) == []


@each(FILES)
def test_file_is_small_enough_to_be_read(path: PurePosixPath) -> None:
    """Modules, classes and functions have an upper bound."""
    assert boundaries.oversized(source(path), path) == []


@each([path for path in FILES if path.name == "__init__.py" and len(path.parts) > 1])
def test_package_file_only_says_what_lives_there(path: PurePosixPath) -> None:
    """A package's own file is its docstring; nothing is re-exported."""
    assert boundaries.superfluous_init(source(path), path) == []


def test_root_module_imports_nothing_when_it_is_loaded() -> None:
    """The gateway, pip and pytest load it under three names, pytest without a package."""
    assert boundaries.root_imports(source(in_file("__init__.py"))) == []


def test_list_of_packages_is_the_tree() -> None:
    """A package that pyproject.toml forgets is missing from the wheel alone."""
    settings = tomllib.loads(source(in_file("pyproject.toml")))
    listed = settings["tool"]["setuptools"]["packages"]

    folders = {path.parent for path in PACKAGED if path.name == "__init__.py"}
    present = {".".join(("hermes_chatto", *folder.parts)) for folder in folders}
    assert set(listed) == present | {"hermes_chatto"}
    assert listed == sorted(listed)


def text_files() -> Iterator[Path]:
    """Yield every file of the checkout that is ours and is text."""
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [
            name
            for name in folders
            if name not in SKIPPED_FOLDERS
            and not name.endswith(".egg-info")
            and (not name.startswith(".") or name == ".ci")
        ]
        # In a second working tree `.git` is a file, and names where the first one is.
        kept = sorted(name for name in names if name != ".git" and not name.endswith(".pyc"))
        yield from (Path(folder, name) for name in kept)


def test_no_file_names_an_index_or_a_place_on_one_machine() -> None:
    """A checkout works anywhere, with whatever index its reader has configured."""
    found = [
        f"{path.relative_to(ROOT)}: {word}"
        for path in text_files()
        for word in strange_words(path.read_text(encoding="utf-8", errors="replace"))
    ]

    assert found == []


def strange_words(text: str) -> list[str]:
    """Return what ties a text to one machine or one index."""
    homes = [match.group() for match in HOME_FOLDER.finditer(text)]
    return [word for word in FORBIDDEN if word in text] + homes


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("machines/turn.py", "import time"),
        ("machines/turn.py", "from ..store import turns"),
        ("machines/turn.py", "from .. import store"),
        ("machines/turn.py", "import anyio"),
        ("store/turns.py", "from ..machines.turn import TurnChart"),
        ("store/turns.py", "import anyio"),
        ("actors/runtime/mailbox.py", "from ..sessions.ports import RoomWriter"),
        ("actors/runtime/mailbox.py", "from ... import machines"),
        ("actors/sessions/lane.py", "from ..chatto.client import Client"),
        ("actors/sessions/lane.py", "from .. import chatto"),
        ("actors/sessions/lane.py", "import httpx"),
        ("actors/sessions/lane.py", "import gateway.run"),
        ("actors/chatto/client.py", "from ...store import turns"),
        ("actors/chatto/client.py", "from ..hermes.adapter import Adapter"),
        ("actors/hermes/adapter.py", "from ...machines.turn import TurnChart"),
        ("actors/hermes/adapter.py", "import chattolib"),
        ("actors/hermes/adapter.py", "from ..bootstrap import build"),
        ("actors/bootstrap.py", "from .sandbox.server import app"),
        ("actors/bootstrap.py", "from . import sandbox"),
        ("actors/bootstrap.py", "import uvicorn"),
        ("actors/chatto/client.py", "import starlette.routing"),
        ("actors/sandbox/app.py", "from ...scripts import suite"),
        ("__init__.py", "from .actors.sandbox import demo"),
        ("scripts/child.py", "import anyio"),
        ("machines/turn.py", "import hermes_chatto.machines.thread"),
        ("machines/turn.py", "from machines.thread import ThreadChart"),
        ("store/turns.py", "from hermes_plugins.chatto.store import rows"),
        ("store/turns.py", "from .... import rows"),
    ],
)
@pytest.mark.parametrize(
    "frame",
    [
        "{}",
        "def late() -> None:\n    {}",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    {}",
        "class A:\n    async def late(self) -> None:\n        {}",
    ],
    ids=["top", "function", "type-checking", "method"],
)
def test_import_across_a_boundary_is_found(path: str, line: str, frame: str) -> None:
    """Wherever it stands in the file."""
    assert len(boundaries.broken_imports(frame.format(line), in_file(path))) == 1


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("machines/turn.py", "from collections.abc import Mapping"),
        ("machines/turn.py", "from .chart import Chart"),
        ("machines/turn.py", "from . import chart"),
        ("store/turns.py", "import sqlite3, json, os.path"),
        ("actors/sessions/lane.py", "from ...machines import turn"),
        ("actors/sessions/lane.py", "from ... import machines, store"),
        ("actors/sessions/render.py", "from markdown_it import MarkdownIt"),
        ("actors/bootstrap.py", "from . import chatto, hermes"),
        ("actors/sandbox/server/app.py", "from ....machines import turn"),
        ("actors/sandbox/server/app.py", "from starlette.routing import Route"),
        ("__init__.py", "from .actors.bootstrap import build"),
        ("scripts/suite.py", "import coverage, pytest"),
        ("scripts/diagrams.py", "from ..machines.export import pages"),
    ],
)
def test_import_inside_the_boundaries_is_left_alone(path: str, line: str) -> None:
    """The rules forbid nothing that the table allows."""
    assert boundaries.broken_imports(line, in_file(path)) == []


@pytest.mark.parametrize(
    "text",
    [
        "seen = []",
        "seen: dict[str, int] = {}",
        "seen = set()",
        "seen: Final = {}",
        "seen = [name for name in 'ab']",
        "seen = collections.defaultdict(list)",
        "seen = deque[str]()",
        "lock = threading.Lock()",
        "if True:\n    seen = []",
        "try:\n    pass\nexcept OSError:\n    seen = []",
        "class A:\n    seen = []",
        "def f() -> None:\n    global seen\n    seen = 1",
        "seen = ()\nseen += (1,)",
    ],
)
def test_state_of_a_module_is_found(text: str) -> None:
    """However it is written down."""
    assert len(boundaries.hidden_state(text, in_file("store/turns.py"))) == 1


@pytest.mark.parametrize(
    "text",
    [
        '__all__ = ["Turn"]',
        "KINDS = frozenset({1, 2})",
        "NAMES: Mapping[str, int] = {'a': 1}",
        "class A:\n    NAMES: ClassVar[Mapping[str, int]] = {'a': 1}",
        "NAMES = MappingProxyType({'a': 1})",
        "def f() -> list[int]:\n    seen = []\n    return seen",
        "class A:\n    def __init__(self) -> None:\n        self.seen = []",
    ],
)
def test_constants_and_locals_are_no_state(text: str) -> None:
    """A table that the type checkers protect is a constant."""
    assert boundaries.hidden_state(text, in_file("store/turns.py")) == []


@pytest.mark.parametrize(
    "text",
    [
        "x = 1\n" * (boundaries.MODULE_LINES + 1),
        "class A:\n" + "    x = 1\n" * boundaries.CLASS_LINES,
        "def f():\n" + "    x = 1\n" * (boundaries.FUNCTION_LINES + 1),
        "async def f():\n    'Doc.'\n" + "    x = 1\n" * (boundaries.FUNCTION_LINES + 1),
    ],
    ids=["module", "class", "function", "coroutine"],
)
def test_excess_length_is_found(text: str) -> None:
    """One line more than the bound is too much."""
    assert len(boundaries.oversized(text, in_file("store/turns.py"))) == 1


def test_docstring_does_not_count_as_body() -> None:
    """Explaining a function must not make it too long."""
    text = (
        "def f():\n    '''" + "\n" * 60 + "    '''\n" + "    x = 1\n" * boundaries.FUNCTION_LINES
    )

    assert boundaries.oversized(text, in_file("store/turns.py")) == []


@pytest.mark.parametrize("text", ["import os", "'''Doc.'''\nif True:\n    from . import actors"])
def test_import_at_the_top_of_the_root_is_found(text: str) -> None:
    """Also below a condition."""
    assert len(boundaries.root_imports(text)) == 1


@pytest.mark.parametrize("text", ["", "'''Doc.'''\nfrom .turn import TurnChart"])
def test_package_file_with_more_or_less_than_a_docstring_is_found(text: str) -> None:
    """No docstring is as wrong as a second statement."""
    assert len(boundaries.superfluous_init(text, in_file("store/__init__.py"))) == 1


@pytest.mark.parametrize("word", [*FORBIDDEN, "/home" + "/ann/chatto"])
def test_address_or_place_is_found(word: str) -> None:
    """In the middle of a line, too."""
    assert strange_words(f"see <{word}> for it") != []
