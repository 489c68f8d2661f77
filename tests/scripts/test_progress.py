"""Progress is one living line for a person, and few lines for a log."""

import io

from hermes_chatto.scripts.progress import Progress


class Terminal(io.StringIO):
    """A screen that keeps everything it was sent."""

    def isatty(self) -> bool:
        return True


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_log_gets_a_line_every_few_seconds() -> None:
    """Not one for each package."""
    out, clock = io.StringIO(), Clock()
    progress = Progress(out, clock)

    progress.step("installing")
    for name in ("anyio", "httpx", "uvicorn", "websockets", "zstd", "last"):
        clock.now += 2
        progress.tick(name)

    assert out.getvalue().splitlines() == [
        "dev:   0 s  installing",
        "dev:   6 s  installing: uvicorn",
        "dev:  12 s  installing: last",
    ]


def test_terminal_gets_one_line_that_renews_itself() -> None:
    """Each version starts at the left edge and clears what was there."""
    out, clock = Terminal(), Clock()
    progress = Progress(out, clock)

    progress.step("installing")
    clock.now += 1
    progress.tick("anyio")
    progress.finish("ready")

    assert out.getvalue().split("\r\x1b[K") == [
        "",
        "dev:   0 s  installing",
        "dev:   1 s  installing: anyio",
        "dev:   1 s  ready\n",
    ]


def test_detail_stays_until_there_is_a_newer_one() -> None:
    """A download that takes long keeps its name on the line."""
    out, clock = io.StringIO(), Clock()
    progress = Progress(out, clock)

    progress.tick("hermes")
    clock.now += 9
    progress.tick()

    assert out.getvalue().splitlines()[-1].endswith(": hermes")
