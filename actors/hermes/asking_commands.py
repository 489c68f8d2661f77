"""Which commands of the gateway have the agent run: as far as limits go, they are questions."""

from collections.abc import Mapping

from hermes_cli.commands import resolve_command

__all__ = ["has_agent_run"]

WITH_WORDS: Mapping[str, frozenset[str]] = {
    "bg": frozenset(),
    "blueprint": frozenset(),
    "btw": frozenset(),
    "goal": frozenset({"clear", "gate", "pause", "show", "status", "stop", "unwait", "wait"}),
    "heartbeat": frozenset({"clear", "pause", "status"}),
    "loop": frozenset({"pause", "status", "stop"}),
    "moa": frozenset(),
    "queue": frozenset({"clear", "edit", "list", "move", "rm"}),
    "steer": frozenset(),
}
"""Commands that ask what is written behind them; with nothing, or with one of these words, they
look at what there is, or end it. Source: Hermes 0.22, hermes_cli/commands.py."""

ALWAYS = frozenset({"init", "learn", "plan", "refine", "retry", "review"})
"""Commands that ask by themselves."""


def has_agent_run(command: str) -> bool:
    """Tell whether a command has the agent run.

    One that is not among the gateway's own may be a skill, and that is given to the agent.
    Source: Hermes 0.22, gateway/run_inbound.py:_hm_dispatch_canonical_command,
    _hm_skill_slash_rewrite.

    Args:
        command: from its slash on.
    """
    name, _, words = command.partition(" ")
    known = resolve_command(name)
    if known is None or known.name in ALWAYS:
        return True
    first = words.split(maxsplit=1)[:1]
    return (
        known.name in WITH_WORDS and bool(first) and first[0].lower() not in WITH_WORDS[known.name]
    )
