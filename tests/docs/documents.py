"""Read the documents at the root as their readers and their renderer do."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["NAMES", "ROOT", "anchors", "code_blocks", "links", "sections", "text_of", "words"]

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("README.md", "CONCEPTS.md", "AGENTS.md", "CHANGELOG.md")

_FENCE = re.compile(r"^ *```(?P<info>[^\n]*)\n(?P<code>.*?)^ *```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^(#{1,6}) +(.+?) *$", re.MULTILINE)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


def text_of(name: str) -> str:
    """Return a document."""
    return (ROOT / name).read_text(encoding="utf-8")


def prose(text: str) -> str:
    """Return a document without code blocks and remarks."""
    return _COMMENT.sub("", _FENCE.sub("", text))


def anchors(text: str) -> Sequence[str]:
    """Return what links may point at: headings, as GitHub makes names of them."""
    return [_anchor(title) for _, title in _HEADING.findall(prose(text))]


def sections(text: str) -> Sequence[str]:
    """Return the anchors of the headings of the second level, in order."""
    found = _HEADING.findall(prose(text))
    return [_anchor(title) for level, title in found if level == "##"]


def links(text: str) -> Sequence[str]:
    """Return the targets of all links."""
    return _LINK.findall(prose(text))


def code_blocks(text: str) -> Sequence[tuple[str, str]]:
    """Return what stands behind the fence of each code block, and the code."""
    return [(found["info"].strip(), found["code"]) for found in _FENCE.finditer(text)]


def words(pattern: str) -> Mapping[str, set[str]]:
    """Return what a pattern finds in each document, code included."""
    return {name: set(re.findall(pattern, text_of(name))) for name in NAMES}


def _anchor(title: str) -> str:
    """Make a name of a heading. Source: github.com/gjtorikian/html-pipeline, TOC filter."""
    kept = re.sub(r"[^\w\- ]", "", title.lower())
    return kept.replace(" ", "-")
