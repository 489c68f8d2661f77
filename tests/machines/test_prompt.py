"""How a question of the agent may end."""

import pytest

from hermes_chatto.machines.driver import Driver
from hermes_chatto.machines.prompt import (
    Opened,
    PromptChart,
    PromptRecord,
    Settled,
    Withdrawal,
)


@pytest.mark.parametrize(
    ("event", "ev", "after"),
    [
        ("approve", Settled("ada"), PromptRecord("approved", None, "m1", "ada")),
        ("deny", Settled("ada"), PromptRecord("denied", None, "m1", "ada")),
        ("answer", Settled("ada"), PromptRecord("answered", None, "m1", "ada")),
        ("expire", None, PromptRecord("expired", None, "m1", None)),
        ("withdraw", Withdrawal("gone"), PromptRecord("withdrawn", "gone", "m1", None)),
    ],
)
def test_open_prompt_is_settled_once(event: str, ev: object, after: PromptRecord) -> None:
    """Who settled it stands in the row; whatever comes later changes nothing."""
    driver = Driver(PromptChart, PromptRecord())
    shown, _ = driver.fire(PromptRecord(), "show", Opened("m1"))

    settled, _ = driver.fire(shown, event, ev)
    later, _ = driver.fire(settled, "come_late")

    assert settled == after
    assert later == after


@pytest.mark.parametrize(
    ("event", "ev", "after"),
    [
        ("approve", Settled("ada"), PromptRecord("approved", None, "m1", "ada")),
        ("deny", Settled("ada"), PromptRecord("denied", None, "m1", "ada")),
        ("answer", Settled("ada"), PromptRecord("answered", None, "m1", "ada")),
        ("expire", None, PromptRecord("expired", None, "m1", None)),
        ("withdraw", Withdrawal("gone"), PromptRecord("withdrawn", "gone", "m1", None)),
    ],
)
def test_prompt_that_is_over_while_it_was_posted_still_learns_its_message(
    event: str, ev: object, after: PromptRecord
) -> None:
    """A person may answer before the server's word comes; else nobody knew which message it is."""
    driver = Driver(PromptChart, PromptRecord())
    over, _ = driver.fire(PromptRecord(), event, ev)

    shown, _ = driver.fire(over, "show", Opened("m1"))

    assert shown == after
