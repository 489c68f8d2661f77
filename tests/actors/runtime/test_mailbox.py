"""Mailbox: mails leave in order, and only when they are done with."""

from itertools import count

from hermes_chatto.actors.runtime.mailbox import (
    Address,
    Mailbox,
    MailboxFullError,
    SupervisorClosedError,
)


def mailbox_with(*mails: str) -> Mailbox:
    """Return a mailbox whose waits are 1, 2, 3 ... seconds."""
    mailbox = Mailbox(lambda: map(float, count(1)))
    for mail in mails:
        mailbox.put(mail)
    return mailbox


def test_head_stays_until_it_is_removed() -> None:
    """A crash between taking and handling loses nothing."""
    mailbox = mailbox_with("a", "b", "c")

    assert mailbox.head(2) == ("a", "b")
    assert mailbox.head(2) == ("a", "b")
    assert len(mailbox) == 3
    assert mailbox.remove_head() == 2
    assert mailbox.head(2) == ("c",)


def test_head_keeps_its_size_while_more_mail_comes() -> None:
    """What is tried again is what failed."""
    mailbox = mailbox_with("a")
    mailbox.head(9)

    mailbox.put("b")

    assert mailbox.head(9) == ("a",)


def test_split_head_is_taken_one_by_one() -> None:
    """Until its last mail is through; then batches come again."""
    mailbox = mailbox_with("a", "b", "c", "d")
    mailbox.head(2)

    mailbox.split()
    heads = []
    while len(mailbox):
        heads.append(mailbox.head(2))
        mailbox.remove_head()

    assert heads == [("a",), ("b",), ("c", "d")]


def test_waits_and_failures_begin_anew_with_each_head() -> None:
    """One bad mail does not slow down the next."""
    mailbox = mailbox_with("a", "b")
    mailbox.head(1)
    mailbox.failures = 2
    waited = [mailbox.next_wait(), mailbox.next_wait()]

    mailbox.remove_head()

    assert waited == [1.0, 2.0]
    assert mailbox.failures == 0
    assert mailbox.next_wait() == 1.0


def test_errors_carry_the_address() -> None:
    """Whoever told many actors learns which one refused."""
    address = Address("turn", "m1")

    assert str(address) == "turn=m1"
    assert MailboxFullError(address, "3 wait for it").address == address
    assert SupervisorClosedError(address).address == address
