"""The command: options, the two parts of the campaign, signals and the exit code."""

import argparse
import logging
import secrets
import shutil
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import anyio

from .hosted import hosted
from .real import real
from .tally import Tally

__all__ = ["run"]

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
KILLS, GATEWAY_KILLS = 500, 100
TELL_EVERY_S = 10.0
EXIT_FLAW = 1


@dataclass(slots=True)
class Ending:
    """How it ends; filled in as that becomes known."""

    exit_code: int = 0
    words: list[str] = field(default_factory=list)


def run(arguments: Sequence[str]) -> int:
    """Play the campaign.

    Args:
        arguments: of the command line.

    Returns:
        0 when nothing was lost, answered twice or stuck; 1 when something was, and the seed is
        printed; 128 and the number of the signal that ended it.
    """
    options = _parser().parse_args(arguments)
    logging.disable(logging.WARNING)  # hundreds of planned faults
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # answers lost on purpose
    ending = Ending()
    anyio.run(_until_signal, options, ending)
    _say(*ending.words)
    return ending.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./dev campaign",
        description="Kill the plugin at every await point, and compare server and store.",
    )
    parser.add_argument(
        "--kills", type=_number, default=KILLS, help=f"of the hosted plugin ({KILLS})"
    )
    parser.add_argument(
        "--gateway", type=_number, default=GATEWAY_KILLS, help=f"of it ({GATEWAY_KILLS})"
    )
    parser.add_argument("--keep", metavar="FOLDER", help="copy what there is to see after a flaw")
    parser.add_argument("--seed", default=secrets.token_hex(4), help="of all chances")
    return parser


def _number(text: str) -> int:
    """Read a number of kills.

    Raises:
        ArgumentTypeError: it is none.
    """
    if text.isdecimal():
        return int(text)
    message = f"{text!r} is no number of kills"
    raise argparse.ArgumentTypeError(message)


async def _until_signal(options: argparse.Namespace, ending: Ending) -> None:
    """Play until the end or the first signal; further ones do not cut the clean-up short."""
    with anyio.open_signal_receiver(*SIGNALS) as signals:
        async with anyio.create_task_group() as tasks:

            async def stop_on_signal() -> None:
                async for number in signals:
                    ending.exit_code = 128 + number
                    ending.words = ["Stopped; nothing of it is left."]
                    tasks.cancel_scope.cancel()

            tasks.start_soon(stop_on_signal)
            await _play(options, ending)
            tasks.cancel_scope.cancel()


async def _play(options: argparse.Namespace, ending: Ending) -> None:
    _say(f"Seed {options.seed}.")
    if options.kills:
        async with hosted(options.seed) as campaign:
            await _part("A process that hosts the plugin", campaign.play, options.kills, ending)
            _keep(campaign.folder, options.keep, ending)
    if options.gateway and not ending.exit_code:
        async with real(options.seed) as campaign:
            await _part("The real gateway", campaign.play, options.gateway, ending)
            _keep(campaign.folder, options.keep, ending)
    if ending.exit_code:
        ending.words.append(f"Something is wrong; the seed was {options.seed}.")


Play: TypeAlias = Callable[[int, Callable[[Tally], None]], Awaitable[Tally]]


async def _part(name: str, play: Play, kills: int, ending: Ending) -> None:
    began = last = time.monotonic()

    def progress(tally: Tally) -> None:
        nonlocal last
        if time.monotonic() - last > TELL_EVERY_S:
            last = time.monotonic()
            _say(f"  {tally.killed} of {kills} kills, {tally.questions} questions")

    _say(f"{name} is killed {kills} times:")
    tally = await play(kills, progress)
    _say(*tally.lines(), f"{time.monotonic() - began:.0f} s")
    if not tally.is_clean:
        ending.exit_code = EXIT_FLAW


def _keep(folder: str, target: str | None, ending: Ending) -> None:
    """Copy the files of a campaign that found something."""
    if target is not None and ending.exit_code:
        shutil.copytree(folder, target, ignore=_no_files)
        ending.words.append(f"What there is to see is in {target}.")


def _no_files(folder: str, names: Sequence[str]) -> list[str]:
    """Name what cannot be copied, or is this checkout: links, sockets."""
    paths = [Path(folder, name) for name in names]
    return [path.name for path in paths if path.is_symlink() or path.is_socket()]


def _say(*lines: str) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
