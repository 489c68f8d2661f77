"""Questions runs ask their person and wait for; the gateway keeps them by key, in memory."""

import logging
from collections.abc import Mapping

from ..sessions.ports import Question

__all__ = ["MARK", "marked", "question_of", "questions_of", "take_back"]

logger = logging.getLogger(__name__)


MARK = "chatto_question"
"""In the metadata of a text: the kind of question it is."""


def questions_of(session_key: str) -> frozenset[Question]:
    """Return what kinds of questions runs of a key wait for.

    Source: Hermes 0.22, tools/clarify_gateway.py: get_pending_for_session; tools/approval.py:
    has_blocking_approval.
    """
    from tools.approval import has_blocking_approval  # noqa: PLC0415 - slow import
    from tools.clarify_gateway import get_pending_for_session  # noqa: PLC0415 - as above

    found = set[Question]()
    if get_pending_for_session(session_key, include_choice_prompts=True) is not None:
        found.add(Question.CHOICE)
    if has_blocking_approval(session_key):
        found.add(Question.APPROVAL)
    return frozenset(found)


def marked(metadata: Mapping[str, object] | None) -> dict[str, object]:
    """Return the metadata of a text that asks somebody to choose."""
    return {**(metadata or {}), MARK: Question.CHOICE.value}


def question_of(metadata: Mapping[str, object]) -> Question | None:
    """Tell what a text of the gateway asks the person whose turn waits; None: nothing.

    The gateway marks approvals, and the second attempt at a choice whose first one failed; only
    approvals are marked as said on the way, too.
    Source: Hermes 0.22, gateway/run_turn_runner.py: _approval_notify_sync,
    gateway/run_turn_runner_clarify_delivery.py: text_fallback_coro.
    """
    if metadata.get(MARK) == Question.CHOICE.value:
        return Question.CHOICE
    if metadata.get("is_approval_prompt") is not True:
        return None
    is_on_the_way = metadata.get("_interim_send") is True
    return Question.APPROVAL if is_on_the_way else Question.CHOICE


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
