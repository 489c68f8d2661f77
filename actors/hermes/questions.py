"""Questions a run asks its person (`clarify`) and waits for; the gateway keeps them by key."""

import logging

__all__ = ["is_asking", "take_back"]

logger = logging.getLogger(__name__)


def is_asking(session_key: str) -> bool:
    """Tell whether a run waits for its person's answer to a question.

    Source: Hermes 0.22, tools/clarify_gateway.py: get_pending_for_session.
    """
    from tools.clarify_gateway import get_pending_for_session  # noqa: PLC0415 - slow import

    asked = get_pending_for_session(session_key, include_choice_prompts=True)
    return asked is not None


def take_back(session_key: str) -> None:
    """Take back what runs of a key ask: nobody will answer, and an interrupt does not wake them.

    Left alone, such an agent goes on for an hour. An approval needs no such help: it looks for
    the interrupt by itself.
    Source: Hermes 0.22, tools/clarify_gateway.py: wait_for_response, clear_session;
    tools/approval_gateway_wait.py: _poll_event.
    """
    from tools.clarify_gateway import clear_session  # noqa: PLC0415 - slow import

    if taken_back := clear_session(session_key):
        logger.info(
            "%s: took back %d question(s) of a run that was ended", session_key, taken_back
        )
