"""How an outcome is said to the gateway, exactly as it reads it.

Source: Hermes 0.22, gateway/platforms/base.py: SendResult, _send_with_retry. A failure that is
neither retryable nor declared final makes the gateway post the text a second time, as a "plain
text" fallback; `ChattoAdapter._send_retry_is_final` therefore declares every other one final.
"""

from collections.abc import Mapping

from gateway.platforms.base import SendResult

from ..sessions.ports import DeliveryResult, DeliveryState

__all__ = ["not_posted", "said_to_gateway"]

KINDS: Mapping[str, str] = {
    "permission_denied": "forbidden",
    "archived": "forbidden",
    "not_found": "not_found",
    "rate_limited": "rate_limited",
    "too_large": "too_long",
}
"""The gateway's words for reasons of ours; it has none for the others."""


def said_to_gateway(result: DeliveryResult) -> SendResult:
    """Return what the gateway should know of a delivery.

    `message_id` is the last part and earlier ones are in `continuation_message_ids`: later
    edits aim at the newest part. A partial delivery says so in `raw_response`, so that the head
    that everybody sees is never posted again.
    """
    ids = result.message_ids
    last = ids[-1] if ids else None
    error = f"chatto {result.state.value}: {result.reason or 'no reason given'}"
    match result.state:
        case DeliveryState.DELIVERED:
            return SendResult(True, message_id=last, continuation_message_ids=ids[:-1])  # noqa: FBT003
        case DeliveryState.PARTIAL:
            return SendResult(
                success=False,
                message_id=last,
                error=error,
                continuation_message_ids=ids[:-1],
                raw_response={
                    "partial_overflow": True,
                    "delivered_chunks": len(ids),
                    "last_message_id": last,
                    "continuation_message_ids": ids[:-1],
                },
            )
        case DeliveryState.REFUSED:
            kind = (
                "transient" if result.is_retryable else KINDS.get(result.reason or "", "unknown")
            )
            return SendResult(
                success=False, error=error, retryable=result.is_retryable, error_kind=kind
            )
        case DeliveryState.SUPERSEDED:
            return not_posted(error)


def not_posted(reason: str) -> SendResult:
    """Return a final failure: nothing is in the room and a repetition would not help."""
    return SendResult(success=False, error=reason, error_kind="unknown")
