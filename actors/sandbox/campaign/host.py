"""Makes lives quickly: `python -m hermes_chatto.actors.sandbox.campaign.host`.

Imports everything once, forks a process for every life, and reports how it ended. Commands come
on standard input; those that are not for the host go on to the life. The end of the input ends
the life and the host, so whatever becomes of the campaign, nothing of this is left running.
"""

import contextlib
import os
import select
import signal
import sys
import traceback

from ...chatto import wire  # noqa: F401 - imported once, not in every life
from .life import live
from .talk import Die, Ended, Live, Mail, read, write

__all__ = ["main"]

STDIN, STDOUT = 0, 1


class Host:
    """At most one life at a time."""

    def __init__(self) -> None:
        """Host nobody yet."""
        self._child = 0
        self._commands = -1

    def follow(self, mail: Mail, line: bytes) -> None:
        """Do what a command says."""
        match mail:
            case Live():
                self._fork(mail)
            case Die():
                self.kill()
            case _ if self._child:
                with contextlib.suppress(BrokenPipeError):  # killed, and not reaped yet
                    os.write(self._commands, line)
            case _:
                pass  # for a life that has ended: that was said

    def kill(self) -> None:
        """End the life where it stands."""
        if self._child:
            os.kill(self._child, signal.SIGKILL)

    def reap(self) -> None:
        """Say that the life has ended, if it has."""
        if not self._child:
            return
        pid, status = os.waitpid(self._child, os.WNOHANG)
        if pid:
            os.close(self._commands)
            self._child = 0
            _say(write(Ended(os.waitstatus_to_exitcode(status))))

    def _fork(self, order: Live) -> None:
        theirs, ours = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(ours)
            _be(order, theirs)
        os.close(theirs)
        self._child, self._commands = child, ours


def _be(order: Live, commands: int) -> None:
    """Be a life, in a process of its own; never returns."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    status = 1
    try:
        os.close(STDIN)
        live(order, commands, _say)
        status = 0
    except BaseException:  # noqa: BLE001 - whatever it is, the parent's loop must not go on here
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def _say(line: bytes) -> None:
    # Short enough to go out as a whole, whoever else writes.
    with contextlib.suppress(BrokenPipeError):
        os.write(STDOUT, line)


def main() -> int:
    """Host lives until the input ends."""
    host = Host()
    ear, mouth = os.pipe()
    for end in (ear, mouth):
        os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the campaign's affair
    signal.set_wakeup_fd(mouth)
    rest = b""
    while True:
        readable, _, _ = select.select([STDIN, ear], [], [])
        if ear in readable:
            os.read(ear, 4096)
            host.reap()
        if STDIN in readable:
            got = os.read(STDIN, 65_536)
            if not got:
                host.kill()
                return 0
            *lines, rest = (rest + got).split(b"\n")
            for line in lines:
                host.follow(read(line), line + b"\n")


if __name__ == "__main__":
    sys.exit(main())
