"""Two copies of the plugin in one process, as the gateway loads one for each profile.

Usage: two_copies.py URL PLUGINS FOLDER, where PLUGINS holds the package as `first_copy` and
`second_copy`, and the state files are made in FOLDER.
Each copy serves a profile of its own until it has answered one message; then it says in JSON what
the two share. Run by `test_two_copies.py`.
"""

import importlib
import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio

COPIES = {"first_copy": "hermes", "second_copy": "athene"}


def part(copy: str, name: str) -> Any:  # noqa: ANN401 - whichever copy's module
    """Import a module of one copy."""
    return importlib.import_module(f"{copy}.{name}")


async def serve(copy: str, login: str, url: str, folder: Path) -> None:
    """Run the profile of one copy until it has answered."""
    settings = part(copy, "actors.hermes.settings")
    variables = {
        "CHATTO_URL": url,
        "CHATTO_LOGIN": login,
        "CHATTO_PASSWORD": f"{login}-pass-1",
        "CHATTO_ALLOWED_USERS": "alice",
    }
    resolved = settings.resolve(variables.get, {}).settings
    profile = part(copy, "actors.hermes.profile").Profile(copy, folder / copy / "state.db")
    async with anyio.create_task_group() as tasks:
        gateway = part(copy, "actors.sandbox.scripted_gateway").ScriptedGateway(tasks)
        desk = part(copy, "actors.bootstrap").open_desk(resolved, gateway, profile)
        gateway.serve(desk)
        await desk.start()
        print("live", flush=True)  # noqa: T201 - whoever started it waits for the line
        while not has_answered(profile.state_path):  # noqa: ASYNC110 - a row tells nobody
            await anyio.sleep(0.02)
        await desk.stop()


def has_answered(state: Path) -> bool:
    """Tell whether a question was answered, by the state file."""
    with closing(sqlite3.connect(f"file:{state}?mode=ro", uri=True)) as connection:
        found = connection.execute("select 1 from turns where state = 'answered'")
        return found.fetchone() is not None


def modules_of(copy: str) -> dict[str, ModuleType]:
    """Return the modules of one copy by their name within it."""
    prefix = f"{copy}."
    return {
        name.removeprefix(prefix): module
        for name, module in sys.modules.items()
        if name.startswith(prefix)
    }


def shared() -> list[str]:
    """Return what both copies hold and one of them made: one object in two modules."""
    first, second = modules_of("first_copy"), modules_of("second_copy")
    return [
        f"{name}.{attribute}"
        for name in sorted(first.keys() & second.keys())
        for attribute, value in vars(first[name]).items()
        if not attribute.startswith("__")
        and value is vars(second[name]).get(attribute)
        and _is_ours(value)
    ]


def _is_ours(value: object) -> bool:
    """Tell whether an object was made by a copy, and could be changed."""
    made_by = getattr(value, "__module__", None) or type(value).__module__
    return str(made_by).partition(".")[0] in COPIES or isinstance(value, list | dict | set)


async def main(url: str, folder: Path) -> None:
    """Run both, and say what was found."""
    async with anyio.create_task_group() as both:
        for copy, login in COPIES.items():
            both.start_soon(serve, copy, login, url, folder)
    found = {"modules": len(modules_of("second_copy")), "shared": shared()}
    print(json.dumps(found), flush=True)  # noqa: T201 - that is the answer


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[2])
    anyio.run(main, sys.argv[1], Path(sys.argv[3]))
