"""The server as a program of its own."""

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

COMMAND = [sys.executable, "-m", "hermes_chatto.actors.sandbox.server", "--port"]
LISTENING = "listening on "


@contextmanager
def running(port: int) -> Iterator[subprocess.Popen[str]]:
    """Run the server in a process of its own and stop it afterwards."""
    with subprocess.Popen(
        [*COMMAND, str(port)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def first_line(process: subprocess.Popen[str]) -> str:
    """Return what the server says first."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_the_first_line_names_the_real_address() -> None:
    """Port 0 picks a free one; a program reads it off the first line."""
    with running(0) as server:
        line = first_line(server)
        answer = httpx.get(f"{line.removeprefix(LISTENING)}/healthz")

    assert line.startswith(f"{LISTENING}http://127.0.0.1:")
    assert answer.json() == {"status": "ok"}


def test_the_accounts_people_expect_can_log_in() -> None:
    """Those of the second line, with the passwords that stand there."""
    with running(0) as server:
        url = first_line(server).removeprefix(LISTENING)
        assert server.stdout is not None
        told = server.stdout.readline()
        answer = httpx.post(
            f"{url}/auth/login", json={"login": "carol", "password": "carol-pass-1"}
        )

    assert "carol / carol-pass-1" in told
    assert answer.json()["user"]["login"] == "carol"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_cleanly(number: signal.Signals) -> None:
    """Exit code 0 and nothing on stderr."""
    with running(0) as server:
        first_line(server)
        server.send_signal(number)
        _, errors = server.communicate(timeout=10)

    assert (server.returncode, errors) == (0, "")


def test_a_taken_port_is_told_in_one_plain_line() -> None:
    """What is wrong and what to do, without a traceback; exit code 2."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with running(port) as server:
            _, errors = server.communicate(timeout=10)

    assert server.returncode == 2
    assert errors == (f"Port {port} is taken: stop what listens there, or give another --port.\n")


@pytest.mark.parametrize("port", ["65536", "-1", "http"])
def test_what_is_no_port_is_refused_in_one_line(port: str) -> None:
    """The line shows what was given and what is expected; nothing is started."""
    ended = subprocess.run([*COMMAND, port], capture_output=True, text=True, check=False)

    assert ended.returncode == 2
    assert ended.stderr.splitlines()[-1].endswith(
        f"'{port}' is no port: give a number from 1 to 65535, or 0 for a free one"
    )
