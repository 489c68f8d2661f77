"""The rules of the layout, read off syntax trees: who may import whom, no hidden state, size."""

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

__all__ = [
    "ALLOWED",
    "OURS",
    "broken_imports",
    "hidden_state",
    "layer_of",
    "oversized",
    "python_files",
    "root_imports",
    "superfluous_init",
]

OURS = ("hermes_chatto", "hermes_plugins", "actors", "machines", "store", "scripts", "tests")
"""First words of an absolute import that would tie us to one of our names."""

_GATEWAY = frozenset({"gateway", "agent", "tools", "hermes_cli", "hermes_constants"})
_WIRE = frozenset({"chattolib", "connectrpc", "google", "httpx", "websockets"})
_EVERYTHING = frozenset(
    {
        *("machines", "store", "actors/runtime", "actors/sessions", "actors/chatto"),
        *("actors/hermes", "actors/bootstrap", "statemachine", "sqlite_utils", "anyio"),
        *("markdown_it", "wcwidth", *_GATEWAY, *_WIRE),
    }
)

ALLOWED: Mapping[str, frozenset[str]] = {
    "machines": frozenset({"machines", "statemachine"}),
    "store": frozenset({"store", "sqlite_utils"}),
    "actors/runtime": frozenset({"actors/runtime", "store", "anyio"}),
    "actors/sessions": frozenset(
        {
            *("actors/sessions", "actors/runtime", "machines", "store", "anyio"),
            *("markdown_it", "wcwidth"),
        }
    ),
    "actors/chatto": frozenset(
        {"actors/chatto", "actors/sessions", "actors/runtime", "anyio", *_WIRE}
    ),
    "actors/hermes": frozenset(
        {"actors/hermes", "actors/sessions", "actors/runtime", "anyio", *_GATEWAY}
    ),
    "actors/bootstrap": _EVERYTHING,
    "actors/sandbox": _EVERYTHING | {"actors/sandbox", "starlette", "uvicorn", "yaml"},
    "actors": frozenset(),
    "scripts": frozenset({"scripts", "machines", "actors/sandbox", "coverage", "pytest"}),
    "": frozenset({"actors/bootstrap", "actors/hermes"}),
}
"""What each layer may import besides the standard library; the longest matching key counts."""

MACHINES_STDLIB = frozenset({"collections", "dataclasses", "enum", "typing"})
"""A chart has no clock, no files, no chance: what could bring them is not there to import."""

MUTABLE = frozenset(
    {
        *("list", "dict", "set", "bytearray", "defaultdict", "OrderedDict", "Counter", "deque"),
        *("ChainMap", "WeakKeyDictionary", "WeakValueDictionary", "WeakSet", "SimpleNamespace"),
        *("Queue", "SimpleQueue", "Lock", "RLock", "Event", "Semaphore", "Condition"),
        *("local", "count", "cycle", "Random", "Database", "connect", "Limiter"),
        *("CapacityLimiter", "ContextVar", "Thread", "ThreadPoolExecutor", "Client"),
    }
)

READ_ONLY = frozenset({"Mapping", "Sequence", "Set", "AbstractSet", "Collection"})
"""Declared types under which a literal is a constant."""

MODULE_LINES = 400
CLASS_LINES = 250
FUNCTION_LINES = 50

_LITERALS = (
    ast.List,
    ast.Dict,
    ast.Set,
    ast.ListComp,
    ast.DictComp,
    ast.SetComp,
    ast.GeneratorExp,
)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def python_files(root: Path) -> list[PurePosixPath]:
    """Return the package's modules and the scripts, relative to the checkout."""
    found = [root / "__init__.py"] if (root / "__init__.py").exists() else []
    for folder in ("machines", "store", "actors", "scripts"):
        found += sorted((root / folder).rglob("*.py"))
    return [PurePosixPath(path.relative_to(root)) for path in found]


def layer_of(path: PurePosixPath) -> str:
    """Return the key of `ALLOWED` that a file or module path belongs to."""
    name = path.with_suffix("") if path.name else path
    for candidate in (name, *name.parents):
        key = "" if str(candidate) == "." else str(candidate)
        if key in ALLOWED:
            return key
    return ""


def broken_imports(source: str, path: PurePosixPath) -> list[str]:
    """Find the imports a file must not have, also inside functions and `TYPE_CHECKING`.

    Args:
        source: the file's text.
        path: where it is, relative to the checkout.

    Returns:
        One line for each.
    """
    layer = layer_of(path)
    found = []
    for line, target in _imports(ast.parse(source), path):
        reason = _objection(layer, target)
        if reason:
            found.append(f"{path}:{line}: {target} {reason}")
    return found


def _imports(tree: ast.Module, path: PurePosixPath) -> Iterator[tuple[int, str]]:
    """Yield each imported module: `a.b` for an absolute one, `./a/b` for one of ours."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(level=0, module=str(module)):
                yield node.lineno, module
            case ast.ImportFrom(level=level, module=module, names=names):
                yield from ((node.lineno, target) for target in _ours(path, level, module, names))
            case _:
                pass


def _ours(
    path: PurePosixPath, level: int, module: str | None, names: list[ast.alias]
) -> Iterator[str]:
    parents = path.parents
    if level > len(parents):
        yield "above-the-package"
        return
    base = parents[level - 1].joinpath(*(module or "").split("."))
    if layer_of(base) in ("", "actors"):  # `from .. import store` names the layer on the right
        yield from (f"./{base / alias.name}" for alias in names)
    else:
        yield f"./{base}"


def _objection(layer: str, target: str) -> str:
    if target.startswith("./"):
        other = layer_of(PurePosixPath(target[2:]))
        return "" if other in ALLOWED[layer] else f"is out of bounds for {layer or 'the root'}"
    first = target.partition(".")[0]
    if first in OURS:
        return "is ours: write it relative, the package has more than one name"
    if layer == "machines" and first in sys.stdlib_module_names:
        return "" if first in MACHINES_STDLIB else "is not for a chart"
    if first in sys.stdlib_module_names or first in ALLOWED[layer]:
        return ""
    return f"is out of bounds for {layer or 'the root'}"


def root_imports(source: str) -> list[str]:
    """Find imports at the top of the root module: it is loaded under other names, or none."""
    return [
        f"__init__.py:{node.lineno}: import outside a function"
        for node in _outside_functions(ast.parse(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]


def superfluous_init(source: str, path: PurePosixPath) -> list[str]:
    """Find what a package's `__init__.py` holds besides its docstring."""
    tree = ast.parse(source)
    described = ast.get_docstring(tree) is not None
    found = [] if described else [f"{path}:1: no docstring says what lives here"]
    return found + [
        f"{path}:{node.lineno}: more than a docstring" for node in tree.body[described:]
    ]


def hidden_state(source: str, path: PurePosixPath) -> list[str]:
    """Find state that a module would share between two copies of the plugin.

    Returns:
        One line for each mutable value at module level and each `global` statement.
    """
    tree = ast.parse(source)
    found = [
        f"{path}:{node.lineno}: mutable value at module level (a table is a Mapping)"
        for node in _outside_functions(tree)
        if _assigns_mutable(node)
    ]
    rebinding = (node for node in ast.walk(tree) if isinstance(node, ast.Global))
    return found + [f"{path}:{node.lineno}: global statement" for node in rebinding]


def _outside_functions(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield the statements that run when the module is loaded, class bodies included."""
    waiting: list[ast.AST] = [*tree.body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, _FUNCTIONS):
            continue
        if isinstance(node, ast.stmt):
            yield node
        waiting += [
            each
            for each in ast.iter_child_nodes(node)
            if isinstance(each, ast.stmt | ast.ExceptHandler | ast.match_case)
        ]


def _assigns_mutable(node: ast.stmt) -> bool:
    match node:
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return False
        case ast.AnnAssign(annotation=annotation, value=ast.expr() as value):
            return _is_mutable(value) and not _is_read_only(annotation)
        case ast.Assign(value=value):
            return _is_mutable(value)
        case ast.AugAssign():
            return True
        case _:
            return False


def _is_read_only(annotation: ast.expr) -> bool:
    """Tell whether the declared type has no method that changes: mypy then forbids it."""
    match annotation:
        case ast.Subscript(value=ast.Name(id="ClassVar" | "Final"), slice=inner):
            return _is_read_only(inner)
        case ast.Subscript(value=ast.Name(id=name)):
            return name in READ_ONLY
        case _:
            return False


def _is_mutable(value: ast.expr) -> bool:
    match value:
        case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)):
            return name in MUTABLE
        case ast.Call(func=ast.Subscript(value=ast.Name(id=name))):
            return name in MUTABLE
        case _:
            return isinstance(value, _LITERALS)


def oversized(source: str, path: PurePosixPath) -> list[str]:
    """Find modules, classes and function bodies that are longer than a reader's patience."""
    lines = len(source.splitlines())
    found = [] if lines <= MODULE_LINES else [f"{path}: {lines} lines, {MODULE_LINES} at most"]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef):
            length, limit = _length([node]), CLASS_LINES
        elif isinstance(node, _FUNCTIONS):
            described = ast.get_docstring(node) is not None
            length, limit = _length(node.body[described:]), FUNCTION_LINES
        else:
            continue
        if length > limit:
            found.append(f"{path}:{node.lineno}: {node.name} has {length} lines, {limit} at most")
    return found


def _length(statements: list[ast.stmt]) -> int:
    if not statements:
        return 0
    last = statements[-1]
    return (last.end_lineno or last.lineno) - statements[0].lineno + 1
