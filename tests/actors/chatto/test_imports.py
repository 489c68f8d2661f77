"""What loading the edge costs."""

import subprocess
import sys

import pytest

PROBE = """
import sys
import hermes_chatto.actors.chatto.client
heavy = {"chattolib", "connectrpc", "pyqwest", "google.protobuf", "httpx", "websockets"}
print(sorted(heavy & set(sys.modules)))
"""


@pytest.mark.timeout(60)
def test_client_module_loads_nothing_of_the_network() -> None:
    """The gateway loads plugins within a deadline, one after the other."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"
