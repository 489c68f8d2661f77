"""What the reader sees, on a terminal and elsewhere."""

import io
from collections.abc import Iterator

from hermes_chatto.actors.sandbox.demo.screen import Screen


class Terminal(io.StringIO):
    """An output that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def seconds(*values: float) -> Iterator[float]:
    """Yield what a clock shows, then its last value for ever."""
    yield from values
    while True:
        yield values[-1]


def screen_on(out: io.StringIO, *values: float) -> Screen:
    """Return a screen whose clock shows these seconds one after the other."""
    clock = seconds(*values)
    return Screen(out, lambda: next(clock))


def test_a_step_is_told_at_its_beginning_and_its_end() -> None:
    """In a log each is a line that stays."""
    out = io.StringIO()
    with screen_on(out, 0, 0, 0, 3).during("Starting"):
        pass

    assert out.getvalue() == "Starting ...\nStarting: 3.0 s\n"


def test_a_log_gets_a_sign_of_life_every_five_seconds() -> None:
    """However often one is offered."""
    out = io.StringIO()
    screen = screen_on(out, 0, 0, 0, 1, 4, 6, 6)
    with screen.during("Thinking", is_step=False):
        for _ in range(3):
            screen.tick()

    assert out.getvalue() == "Thinking ... 6 s\n"


def test_a_terminal_renews_one_line_and_wipes_it() -> None:
    """What was said stays; what is going on does not."""
    out = Terminal()
    screen = screen_on(out, 0, 0, 0, 1, 2)
    with screen.during("Thinking", is_step=False):
        screen.tick()
    screen.say("Done.")

    assert "Thinking ... 2 s" in out.getvalue()
    assert out.getvalue().endswith("\r\x1b[KDone.\n")


def test_a_prompt_stays_below_what_is_said() -> None:
    """The reader sees where to type, also after an answer came in."""
    out = Terminal()
    screen = screen_on(out, 0)
    screen.ask("alice> ")
    screen.say("Hermes: hello")

    assert out.getvalue().endswith("\r\x1b[KHermes: hello\nalice> ")


def test_a_pipe_sees_no_prompt() -> None:
    """Nobody types there."""
    out = io.StringIO()
    screen_on(out, 0).ask("alice> ")

    assert out.getvalue() == ""
