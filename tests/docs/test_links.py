"""Whoever follows a link in the documents arrives."""

import pytest

from hermes_chatto.tests.docs.documents import NAMES, ROOT, anchors, links, sections, text_of


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_to_what_is_there(name: str) -> None:
    """Files of the repository, and headings in them."""
    own = text_of(name)
    lost = [target for target in links(own) if not _is_there(target, own)]

    assert lost == []


def _is_there(target: str, own: str) -> bool:
    if target.startswith("https://"):
        return True
    path, _, anchor = target.partition("#")
    file = ROOT / path
    if path and not (file.is_file() and file.resolve().is_relative_to(ROOT)):
        return False
    text = file.read_text(encoding="utf-8") if path else own
    return not anchor or anchor in anchors(text)


@pytest.mark.parametrize("name", ["README.md", "CONCEPTS.md"])
def test_the_table_of_contents_has_every_section_in_order(name: str) -> None:
    """It stands before the first section and names each of them once."""
    text = text_of(name)
    before, _, _ = text.partition("\n## ")

    listed = [target.removeprefix("#") for target in links(before) if target.startswith("#")]

    assert listed == list(sections(text))


@pytest.mark.parametrize("name", NAMES)
def test_headings_are_there_once(name: str) -> None:
    """Else a link to the second one leads to the first."""
    if name == "CHANGELOG.md":
        return  # every version has its "Added"
    found = anchors(text_of(name))

    assert len(found) == len(set(found))
