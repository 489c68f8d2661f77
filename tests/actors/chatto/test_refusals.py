"""What failures mean: the table a post lives by."""

from http import HTTPStatus

import pytest

from hermes_chatto.actors.chatto.refusals import (
    Failure,
    TokenRefusedError,
    error_of,
    is_own_text,
)
from hermes_chatto.actors.sessions.errors import (
    AnswerUnclearError,
    OutcomeUnknownError,
    RequestRefusedError,
    ServerBusyError,
    ServerUnreachableError,
)


def failure(code: str, text: str = "said so", *, is_chattos: bool = True) -> Failure:
    """Return a failure of a post."""
    return Failure("CreateMessage", code, text, is_chattos)


@pytest.mark.parametrize(
    "code",
    [
        *("invalid_argument", "failed_precondition", "permission_denied", "not_found"),
        *("already_exists", "out_of_range", "unimplemented"),
    ],
)
def test_plain_no_is_for_good(code: str) -> None:
    """Nothing was posted; code and text are kept for the row."""
    error = error_of(failure(code), OutcomeUnknownError)

    assert isinstance(error, RequestRefusedError)
    assert (error.code, error.text) == (code, "said so")


@pytest.mark.parametrize(
    "code",
    [
        *("internal", "unknown", "unavailable", "canceled", "deadline_exceeded"),
        *("aborted", "data_loss", "a_code_to_come"),
    ],
)
def test_anything_else_leaves_the_outcome_open(code: str) -> None:
    """`internal` above all: so many posts at once are answered, and few of them are in.

    What the server broke off may still be on its way, as after a connection that broke.
    """
    broke_off = code in {"canceled", "deadline_exceeded"}
    kind = OutcomeUnknownError if broke_off else AnswerUnclearError
    assert type(error_of(failure(code), OutcomeUnknownError)) is kind
    assert type(error_of(failure(code), ServerUnreachableError)) is ServerUnreachableError


def test_broken_connection_may_have_a_post_on_its_way() -> None:
    """As our own deadline may: nobody says that it is over."""
    broken = failure("deadline_exceeded", "nothing within 30 s", is_chattos=False)

    assert type(error_of(broken, OutcomeUnknownError)) is OutcomeUnknownError


@pytest.mark.parametrize(
    "code", ["permission_denied", "unimplemented", "unauthenticated", "resource_exhausted"]
)
def test_page_of_a_proxy_is_no_refusal(code: str) -> None:
    """Its status is given a Connect code by the client; Chatto said nothing."""
    page = failure(code, "Forbidden", is_chattos=False)

    assert type(error_of(page, OutcomeUnknownError)) is OutcomeUnknownError
    assert type(error_of(page, ServerUnreachableError)) is ServerUnreachableError


def test_later_is_busy() -> None:
    """Slow mode, for one."""
    error = error_of(failure("resource_exhausted", "slow mode is active"), OutcomeUnknownError)

    assert type(error) is ServerBusyError


def test_too_large_is_for_good() -> None:
    """It has the code of "later", but no waiting makes a body smaller."""
    text = "message size 1100021 is larger than configured max 1048576"

    error = error_of(failure("resource_exhausted", text), OutcomeUnknownError)

    assert isinstance(error, RequestRefusedError)


def test_refused_token_is_told_apart() -> None:
    """Another one may be had."""
    error = error_of(failure("unauthenticated"), OutcomeUnknownError)

    assert type(error) is TokenRefusedError


def test_status_phrases_are_not_chattos_words() -> None:
    """Chatto's texts begin in lower case and are never empty."""
    assert is_own_text("not found")
    assert not any(is_own_text(status.phrase) for status in HTTPStatus)
    assert not is_own_text("")
