"""An outcome, as the gateway reads it."""

import pytest
from gateway.platforms.base import (
    SEND_ERROR_KINDS,
    BasePlatformAdapter,
    classify_send_error,
)

from hermes_chatto.actors.hermes.send_results import not_posted, said_to_gateway
from hermes_chatto.actors.sessions.ports import DeliveryResult, DeliveryState


def test_the_last_part_is_the_message_and_the_others_its_continuation() -> None:
    """The gateway edits and quotes the newest part."""
    said = said_to_gateway(DeliveryResult(DeliveryState.DELIVERED, ("m1", "m2", "m3")))

    assert (said.success, said.message_id) == (True, "m3")
    assert said.continuation_message_ids == ("m1", "m2")


def test_a_single_part_has_no_continuation() -> None:
    """The common case."""
    said = said_to_gateway(DeliveryResult(DeliveryState.DELIVERED, ("m1",)))

    assert (said.message_id, said.continuation_message_ids) == ("m1", ())


def test_a_partial_delivery_says_so() -> None:
    """Else the gateway posts the whole text again, under a head that everybody has seen."""
    result = DeliveryResult(DeliveryState.PARTIAL, ("m1", "m2"), "permission_denied: no")

    said = said_to_gateway(result)

    assert not said.success
    assert BasePlatformAdapter._is_partial_delivery(said)  # noqa: SLF001 - its own reading
    assert (said.message_id, said.continuation_message_ids) == ("m2", ("m1",))
    assert said.raw_response["delivered_chunks"] == 2


@pytest.mark.parametrize("is_retryable", [True, False])
def test_a_refusal_says_whether_it_may_be_repeated(is_retryable: bool) -> None:  # noqa: FBT001
    """Only the sessions know; nothing is guessed from the words."""
    reason = "network of the room is closed"
    result = DeliveryResult(DeliveryState.REFUSED, (), reason, is_retryable=is_retryable)

    said = said_to_gateway(result)

    assert (said.success, said.retryable) == (False, is_retryable)
    assert said.error == f"chatto refused: {reason}"


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("permission_denied", "forbidden"),
        ("archived", "forbidden"),
        ("not_found", "not_found"),
        ("rate_limited", "rate_limited"),
        ("too_large", "too_long"),
        ("outcome_unknown", "unknown"),
    ],
)
def test_a_refusal_is_final_and_named_in_the_gateways_words(reason: str, kind: str) -> None:
    """Nothing of it is taken for a network error, or for a chat that is gone for good."""
    said = said_to_gateway(DeliveryResult(DeliveryState.REFUSED, (), reason))

    assert (said.retryable, said.error_kind) == (False, kind)
    assert said.error_kind in SEND_ERROR_KINDS
    assert classify_send_error(None, said.error or "") == "unknown"
    assert not BasePlatformAdapter._is_retryable_error(said.error)  # noqa: SLF001 - its own reading


def test_what_a_stopped_run_said_is_a_final_failure() -> None:
    """It was not posted and must not be."""
    said = said_to_gateway(DeliveryResult(DeliveryState.SUPERSEDED, (), "stopped"))

    assert (said.success, said.retryable) == (False, False)
    assert said.error == "chatto superseded: stopped"


def test_what_is_not_posted_says_why() -> None:
    """In one line."""
    said = not_posted("chatto: not connected")

    assert (said.success, said.retryable, said.error) == (False, False, "chatto: not connected")
