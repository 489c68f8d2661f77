"""The command: options, the order of things, signals and the exit code."""

import argparse
import contextlib
import io
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import anyio

from ...sessions.errors import ChatError
from ..gateway_process import GatewayFailedError
from . import closing
from .screen import Screen
from .stage import Stage, StageError, open_stage
from .story import Told, answer, tell
from .talk import talk
from .verdict import Finding, judge, read_back

__all__ = ["run"]

EXIT_TROUBLE = 2  # 1 is "it ran, and something is not right"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(slots=True)
class Ending:
    """How the demo ends; filled in as that becomes known."""

    exit_code: int = EXIT_TROUBLE
    last_words: list[str] = field(default_factory=list)


def run(arguments: Sequence[str]) -> int:
    """Play the demo.

    Args:
        arguments: of the command line.

    Returns:
        0 when every answer is on the server as it should be; 1 when not; 2 when the demo could
        not be played; 128 and the number of the signal that ended it.
    """
    options = _parser().parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without these letters shows others
    ending = Ending()
    anyio.run(_until_signal, options, Screen(sys.stdout), ending)
    # The terminal may be gone with whoever closed it.
    with contextlib.suppress(OSError):
        for line in ending.last_words:
            sys.stderr.write(f"{line}\n")
    return ending.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./dev demo",
        description="A short story between people and the agent, on the real Hermes gateway.",
    )
    parser.add_argument("--talk", action="store_true", help="join in afterwards")
    parser.add_argument(
        "--server",
        metavar="URL",
        help="play on this Chatto server, which has the sandbox's accounts, not on the sandbox",
    )
    return parser


async def _until_signal(options: argparse.Namespace, screen: Screen, ending: Ending) -> None:
    """Play until the end or the first signal; further ones do not cut the clean-up short."""
    with anyio.open_signal_receiver(*SIGNALS) as signals:
        async with anyio.create_task_group() as tasks:

            async def stop_on_signal() -> None:
                async for number in signals:
                    ending.exit_code = 128 + number
                    ending.last_words = ["Stopped; nothing of it is left."]
                    tasks.cancel_scope.cancel()

            tasks.start_soon(stop_on_signal)
            await _play_or_explain(options, screen, ending)
            tasks.cancel_scope.cancel()


async def _play_or_explain(options: argparse.Namespace, screen: Screen, ending: Ending) -> None:
    """Play; say plainly what is wrong when that cannot be done."""
    try:
        ending.exit_code = await _play(options, screen)
    except* OSError as group:
        for error in _leaves(group):
            ending.last_words.append(f"demo: {error}")
    except* (StageError, ChatError, GatewayFailedError) as group:
        ending.last_words += [f"demo: {error}" for error in _leaves(group)]


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error


async def _play(options: argparse.Namespace, screen: Screen) -> int:
    closing.prepare()
    async with open_stage(screen, options.server, answer) as stage:
        screen.say()
        told = await tell(stage.scene, stage.watcher, screen)
        findings: Sequence[Finding] = ()
        if options.talk:
            findings = await _look_back(stage, told)
            await talk(stage, screen)
        screen.say()
        with screen.during("Stopping the gateway"):
            await stage.gateway.stop()
        # Now nothing can be added any more, be it wanted or not.
        findings = findings or await _look_back(stage, told)
        state = closing.keep(stage.gateway)
    _report(screen, findings)
    closing.say_goodbye(screen, state, told[0].message_id)
    return 0 if all(finding.is_so for finding in findings) else 1


async def _look_back(stage: Stage, told: Sequence[Told]) -> Sequence[Finding]:
    """Read the server as Alice, who is in both rooms, and compare."""
    reader = stage.scene.people["alice"]
    first = await reader.read(told[0].room_id, told[0].message_id)
    if first is None:
        message = "The server has lost the first message of the story."
        raise StageError(message)
    posted = await read_back(reader, stage.scene, first.created_at)
    return judge(told, posted, stage.scene.agent_id)


def _report(screen: Screen, findings: Sequence[Finding]) -> None:
    screen.say("\nRead back from the server:\n")
    for finding in findings:
        screen.say(f"  {'yes' if finding.is_so else 'NO '}  {finding.claim}")
        if not finding.is_so:
            screen.say(f"       {finding.found}")
