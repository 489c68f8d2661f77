"""What can go wrong while the environment is set up, and what the reader can do about it."""

import errno
from dataclasses import dataclass

__all__ = ["SetupError", "explain_install", "explain_os_error"]


class SetupError(Exception):
    """The set-up cannot go on; the text says why and what to do."""

    def __init__(self, what: str, remedy: str, evidence: str = "") -> None:
        """Keep the three parts of the message.

        Args:
            what: one sentence, what is wrong.
            remedy: what the reader can do, one or more sentences.
            evidence: the line of foreign output that shows it; empty when there is none.
        """
        super().__init__(what)
        self.what = what
        self.remedy = remedy
        self.evidence = evidence

    def __str__(self) -> str:
        """Return the message as it is shown, without a trailing line end."""
        lines = [f"dev: {self.what}"]
        if self.evidence:
            lines.append(f"     It was: {self.evidence}")
        lines.append(f"     {self.remedy}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class _Sign:
    """Words in an installer's output that tell one trouble from the others."""

    words: tuple[str, ...]
    what: str
    remedy: str


# The first sign that is found wins: the more telling ones come first.
_SIGNS = (
    _Sign(
        ("No space left on device", "Disk quota exceeded"),
        "the disk is full.",
        "Make room (the environment takes up to 600 MB, the installer's temporary files as "
        "much again; TMPDIR moves those) and run the same command again.",
    ),
    _Sign(
        ("DO NOT MATCH THE HASHES", "Hash mismatch"),
        "a downloaded package is not the one the lock names, so nothing of it was installed.",
        "A damaged download heals by running the same command again. If it stays: the index or "
        "proxy of your pip configuration (`pip config list`) hands out other files.",
    ),
    _Sign(
        ("CERTIFICATE_VERIFY_FAILED", "SSLCertVerificationError", "invalid peer certificate"),
        "the certificate of the package index is not trusted.",
        "Behind a proxy that opens connections, give pip its certificate: PIP_CERT=/path/to.pem",
    ),
    _Sign(
        (
            "Failed to establish a new connection",
            "Max retries exceeded",
            "Name or service not known",
            "Temporary failure in name resolution",
            "Connection refused",
            "Cannot connect to proxy",
            "ReadTimeoutError",
            "timed out",
            "Failed to fetch",
            "client error (Connect)",
        ),
        "the package index cannot be reached.",
        "Check the network, the proxy (HTTPS_PROXY) and your pip configuration "
        "(`pip config list`), then run the same command again.",
    ),
    _Sign(
        ("Read-only file system", "Permission denied", "Operation not permitted"),
        "the folder of the environment, .dev, cannot be written.",
        "Run as the owner of the checkout, or clone it to a place of your own.",
    ),
    _Sign(
        ("No matching distribution", "Could not find a version", "no version of"),
        "the package index has no such file of a package that the lock names, or does not answer.",
        "Look at the index of your pip configuration (`pip config list`): a mirror may be "
        "behind, or may have no files for this Python. PYTHON=/path/to/python3.12 tries another.",
    ),
)

_TELLING = ("ERROR", "error:", "Caused by", "WARNING: Retrying")


def explain_install(output: str, log: str) -> SetupError:
    """Tell from an installer's output what is wrong.

    Args:
        output: everything it wrote, standard error included.
        log: where the reader finds the same.

    Returns:
        The error to raise; its evidence is the line that gave it away.
    """
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for sign in _SIGNS:
        for line in reversed(lines):
            if any(word.lower() in line.lower() for word in sign.words):
                return SetupError(sign.what, f"{sign.remedy}\n     All of it: {log}", line[:300])
    telling = [line for line in lines if any(word in line for word in _TELLING)] or lines
    return SetupError(
        "installing the packages failed.",
        f"The whole output is in {log}; running the same command again starts afresh.",
        telling[-1][:300] if telling else "the installer said nothing",
    )


def explain_os_error(error: OSError, folder: str) -> SetupError:
    """Tell from a refused file operation what is wrong.

    Args:
        error: as raised while working below `folder`.
        folder: the folder that is being set up.
    """
    evidence = f"{error.strerror} ({error.filename or folder})"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        sign = _SIGNS[0]
        return SetupError(sign.what, sign.remedy, evidence)
    return SetupError(
        f"{folder} cannot be written.",
        "Run as the owner of the checkout, or clone it to a place of your own.",
        evidence,
    )
