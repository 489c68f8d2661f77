"""Commands that have the agent run, by the gateway's own table of commands."""

import pytest

from hermes_chatto.actors.hermes.asking_commands import has_agent_run


@pytest.mark.parametrize(
    "command",
    [
        *("/queue what is up?", "/q what is up?", "/bg look into it", "/steer leave that"),
        *("/btw what is that?", "/goal find it", "/goal resume", "/plan", "/plan the move"),
        *("/retry", "/loop 5m look", "/heartbeat every 5m look", "/moa think", "/QUEUE this"),
        *("/some-skill do it", "/some-skill"),
    ],
)
def test_what_asks_the_agent_counts(command: str) -> None:
    """Also by another name, and what may be a skill."""
    assert has_agent_run(command)


@pytest.mark.parametrize(
    "command",
    [
        *("/stop", "/new", "/reset", "/approve", "/deny", "/status", "/help", "/yolo", "/undo"),
        *("/queue", "/queue list", "/q clear", "/queue rm 1", "/goal", "/goal clear"),
        *("/loop stop", "/heartbeat pause", "/steer", "/bg", "/model gpt"),
    ],
)
def test_what_looks_or_ends_something_does_not(command: str) -> None:
    """Whoever met a limit must still be able to stop what runs."""
    assert not has_agent_run(command)
