"""What the gateway still has of a turn that an earlier process handed to it."""

from enum import Enum

__all__ = ["Remains"]


class Remains(Enum):
    """What becomes of such a turn without us."""

    RESUMES = "resumes"
    """The gateway runs it again by itself, or does already."""
    WORDLESS = "wordless"
    """It would resume a run that never got the message: there is nothing to go on with."""
    OWES = "owes"
    """It has the answer and will hand it over."""
    HOLDS = "holds"
    """Its transcript has the message; nothing is resumed and nothing owed."""
    NOTHING = "nothing"
    """It never heard of the message, as far as its files tell."""
    UNKNOWN = "unknown"
    """Its files cannot be read just now."""
