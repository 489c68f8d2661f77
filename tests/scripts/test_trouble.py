"""What installers say is told apart, whichever of them said it."""

import errno

import pytest

from hermes_chatto.scripts.trouble import SetupError, explain_install, explain_os_error


@pytest.mark.parametrize(
    ("output", "what"),
    [
        ("ERROR: Could not install packages: [Errno 28] No space left on device", "disk is full"),
        (
            "error: Failed to extract\n  Caused by: Disk quota exceeded (os error 122)",
            "disk is full",
        ),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS", "not the one"),
        ("  x Failed to download `a==1`\n  Hash mismatch for `a==1`", "not the one"),
        ("SSLError(SSLCertVerificationError(1, 'CERTIFICATE_VERIFY_FAILED'))", "not trusted"),
        (
            "WARNING: Retrying: [Errno 111] Connection refused\nERROR: No matching distribution",
            "cannot be reached",
        ),
        ("error: Failed to fetch: `a`\n  Caused by: client error (Connect)", "cannot be reached"),
        ("NameResolutionError: Temporary failure in name resolution", "cannot be reached"),
        (
            "ERROR: Could not install packages: [Errno 30] Read-only file system",
            "cannot be written",
        ),
        ("ERROR: No matching distribution found for a==1", "has no such file"),
        ("error: something nobody has seen", "installing the packages failed"),
        ("", "installing the packages failed"),
    ],
)
def test_output_of_an_installer_names_the_trouble(output: str, what: str) -> None:
    """One sentence for the reader, and where the whole output is."""
    trouble = explain_install(output, "/somewhere/setup.log")

    assert what in trouble.what
    assert "/somewhere/setup.log" in trouble.remedy


@pytest.mark.parametrize(
    ("number", "what"),
    [(errno.ENOSPC, "disk is full"), (errno.EACCES, "cannot be written")],
)
def test_refused_file_operation_names_the_trouble(number: int, what: str) -> None:
    """The folder and the system's own words are in it."""
    text = str(explain_os_error(OSError(number, "words of the system", "/a/b"), "/a"))

    assert what in text
    assert "words of the system (/a/b)" in text


def test_message_has_a_line_for_each_part() -> None:
    """What, how it showed, what to do."""
    assert str(SetupError("it broke.", "Mend it.", "crack")).splitlines() == [
        "dev: it broke.",
        "     It was: crack",
        "     Mend it.",
    ]
