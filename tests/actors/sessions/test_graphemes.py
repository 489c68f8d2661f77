"""A cut never falls into what people see as one character."""

import pytest

from hermes_chatto.actors.sessions.graphemes import last_boundary

FAMILY = "👨\u200d👩\u200d👧"


@pytest.mark.parametrize(
    ("text", "at", "boundary"),
    [
        ("abc", 0, 0),
        ("abc", 2, 2),
        ("abc", 3, 3),
        ("abc", 9, 3),
        ("ae\u0301x", 2, 1),
        ("e\u0301x", 1, 0),
        (f"a{FAMILY}b", 4, 1),
        (f"a{FAMILY}b", 6, 6),
        ("🇩🇪🇫🇷", 3, 2),
        ("🇩🇪🇫🇷", 1, 0),
        ("👍🏽", 1, 0),
        ("☎\ufe0f", 1, 0),
        ("\r\n", 1, 0),
    ],
)
def test_the_last_place_between_characters(text: str, at: int, boundary: int) -> None:
    """Accents, joined emoji, flags, skin tones, variation selectors."""
    assert last_boundary(text, at) == boundary
