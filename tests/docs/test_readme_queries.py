"""The queries README shows are run as a reader runs them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_chatto.tests.docs.conftest import Day
from hermes_chatto.tests.docs.documents import code_blocks, text_of

QUERIES = [
    (info, code) for info, code in code_blocks(text_of("README.md")) if info.startswith("sh query")
]
WHY = "turn_overview --where 'message_id = :id'"


def run(query: str, day: Day, message_id: str) -> "subprocess.CompletedProcess[str]":
    """Run a block of README in a shell, with the tool of this environment."""
    return subprocess.run(
        ["sh", "-c", query],  # noqa: S607 - the reader's shell
        env={
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(day.state.parent),
            "STATE": str(day.state),
            "MESSAGE": message_id,
            "THREAD": day.message_id,
        },
        capture_output=True,
        text=True,
        check=False,
    )


def row_count(output: str) -> int:
    """Count the rows of the tool's JSON, or of its table."""
    if output.lstrip().startswith("["):
        return len(json.loads(output))
    return max(len(output.strip().splitlines()) - 2, 0)


@pytest.mark.parametrize(
    ("info", "query"), QUERIES, ids=[code.split("\n")[0][:60] for _, code in QUERIES]
)
async def test_query_of_the_readme_runs(info: str, query: str, day: Day) -> None:
    """It ends well, and has something to show unless README says that it may not."""
    ended = run(query, day, day.message_id)

    assert ended.returncode == 0, ended.stderr
    assert row_count(ended.stdout) > 0 or "may be empty" in info


async def test_the_readme_tells_why_there_is_no_answer(day: Day) -> None:
    """One line with state and reason."""
    (query,) = [code for _, code in QUERIES if WHY in code]

    (row,) = json.loads(run(query, day, day.failed_id).stdout)

    assert (row["state"], row["reason"]) == ("failed", "permission_denied")
    assert row["answer_state"] == "refused (permission_denied)"


async def test_the_readme_tells_what_a_session_has_read(day: Day) -> None:
    """The frontier moves with every turn of the thread."""
    (query,) = [code for _, code in QUERIES if "$.frontier_id" in code]

    told = run(query, day, day.message_id).stdout

    assert "hand_over" in told
    assert day.message_id in told
