"""What README says is stored is all that is stored."""

import re
import stat

import pytest

from hermes_chatto.tests.docs.conftest import Day
from hermes_chatto.tests.docs.documents import text_of


def columns_of_words() -> set[str]:
    """Return the columns in which README says that words of messages stand."""
    return set(re.findall(r"^\| `(\w+\.\w+)` \|", text_of("README.md"), re.MULTILINE))


async def test_words_stand_only_where_the_readme_says(day: Day) -> None:
    """Those of questions, answers, commands and of whoever was not meant."""
    said = re.compile("tulip|lily|rose|aster|orchid|violet|daisy")

    found = {column for column, text in day.texts() if said.search(text)}

    assert found <= columns_of_words()


@pytest.mark.parametrize("word", ["tulip", "lily", "rose", "violet", "daisy"])
async def test_words_nothing_needs_are_gone(day: Day, word: str) -> None:
    """Answered questions, their answers, remarks of others, and what was not for the agent."""
    assert [column for column, text in day.texts() if word in text] == []


async def test_a_question_that_failed_keeps_its_words(day: Day) -> None:
    """It could be asked again."""
    assert "turns.body" in {column for column, text in day.texts() if "orchid" in text}


async def test_the_file_is_its_owners(day: Day) -> None:
    """0700 and 0600."""
    assert stat.S_IMODE(day.state.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(day.state.stat().st_mode) == 0o600
