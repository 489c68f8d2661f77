"""Run the sandbox server alone: `python -m hermes_chatto.actors.sandbox.server --port 4001`.

The first line it prints is for programs (`listening on http://127.0.0.1:4001`), the second for
people. SIGTERM and SIGINT stop it as they stop a real server.
"""

import argparse
import asyncio
import signal
import sys

from .sandbox import PortTakenError, Sandbox

OWNER, OWNER_PASSWORD = "olga", "owner-pass-1"  # the sandbox keeps no secrets
PEOPLE = ("alice", "bob", "carol", "dave", "hermes")
EXIT_PORT_TAKEN = 2
HIGHEST_PORT = 65_535


def furnish(sandbox: Sandbox) -> None:
    """Add the accounts people and suites expect; all but the owner without any role."""
    sandbox.add_account(OWNER, OWNER_PASSWORD, roles=["owner"])
    for login in PEOPLE:
        sandbox.add_account(login)


async def serve(sandbox: Sandbox) -> None:
    """Serve until SIGTERM or SIGINT.

    Raises:
        PortTakenError: another program listens on the port.
    """
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    async with sandbox as url:
        accounts = [f"{OWNER} / {OWNER_PASSWORD} (owner)"]
        accounts += [f"{login} / {login}-pass-1" for login in PEOPLE]
        sys.stdout.write(f"listening on {url}\nChatto sandbox {url}: {', '.join(accounts)}\n")
        sys.stdout.flush()
        await stopped.wait()


def port_number(text: str) -> int:
    """Read the number of a port.

    Raises:
        ArgumentTypeError: it is none; the text says what is expected.
    """
    if text.isdecimal() and int(text) <= HIGHEST_PORT:
        return int(text)
    message = f"{text!r} is no port: give a number from 1 to {HIGHEST_PORT}, or 0 for a free one"
    raise argparse.ArgumentTypeError(message)


def main(arguments: list[str] | None = None) -> int:
    """Run the server and return the exit code: 0 stopped, 2 the port is taken."""
    parser = argparse.ArgumentParser(prog="chatto-sandbox", description="An in-memory Chatto.")
    parser.add_argument("--host", default="127.0.0.1", help="the IPv4 address to listen on")
    parser.add_argument("--port", type=port_number, default=0, help="0 picks a free one")
    options = parser.parse_args(arguments)
    sandbox = Sandbox(address=(options.host, options.port))
    furnish(sandbox)
    try:
        asyncio.run(serve(sandbox))
    except PortTakenError:
        sys.stderr.write(
            f"Port {options.port} is taken: stop what listens there, or give another --port.\n"
        )
        return EXIT_PORT_TAKEN
    return 0


if __name__ == "__main__":
    sys.exit(main())
