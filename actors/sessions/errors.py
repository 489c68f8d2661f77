"""What can go wrong between us and the server; each leaf is another thing a caller does.

ChatError
+-- ServerUnreachableError       no answer; the same read may succeed later
+-- ServerBusyError              nothing was done; the same call may succeed later
+-- RequestRefusedError          the server's no; the same call would get the same answer
+-- OutcomeUnknownError          a post whose answer never came; read back before repeating
|   +-- AnswerUnclearError           an answer came: what the post does is done by now
+-- UnusableConnectionError      no retry helps, another setting does
+-- CredentialRefusedError   wrong password, revoked token
+-- NotChattoError           no Chatto server at the address, or no usable address
+-- ProtocolNotSpokenError   its realtime protocol is another one
+-- SettingsConflictError    two settings say different things of one room
StreamLostError                  the realtime stream ended; a new one may be opened
StateUnusableError               the state file cannot be used
"""

__all__ = [
    "AnswerUnclearError",
    "ChatError",
    "CredentialRefusedError",
    "NotChattoError",
    "OutcomeUnknownError",
    "ProtocolNotSpokenError",
    "RequestRefusedError",
    "ServerBusyError",
    "ServerUnreachableError",
    "SettingsConflictError",
    "StateUnusableError",
    "StreamLostError",
    "UnusableConnectionError",
]


class ChatError(Exception):
    """Something went wrong between us and the server; the text is fit for a log line."""


class ServerUnreachableError(ChatError):
    """No usable answer: refused, silent too long, broken off, or "unavailable"."""


class ServerBusyError(ChatError):
    """The server asks to come back later; nothing was done."""


class RequestRefusedError(ChatError):
    """The server said no, for good."""

    def __init__(self, code: str, text: str) -> None:
        """Keep the server's words.

        Args:
            code: Connect code in lower case, for example `permission_denied`.
            text: the server's text.
        """
        super().__init__(f"{code}: {text}")
        self.code = code
        self.text = text


class OutcomeUnknownError(ChatError):
    """A post may have been applied: its answer never came, or was no plain refusal."""


class AnswerUnclearError(OutcomeUnknownError):
    """The server itself answered a post, with no plain refusal: applied or not, it is over."""


class UnusableConnectionError(ChatError):
    """No retry helps; the text names the setting and the remedy."""


class CredentialRefusedError(UnusableConnectionError):
    """The server does not accept the credential."""


class NotChattoError(UnusableConnectionError):
    """The address is unusable, or something else answers there."""


class ProtocolNotSpokenError(UnusableConnectionError):
    """The server speaks another realtime protocol than the plugin."""


class SettingsConflictError(UnusableConnectionError):
    """Two settings say different things of one room, as its name and its ID show."""

    def __init__(self, first: str, second: str) -> None:
        """Name the entries."""
        super().__init__(
            f"{first} and {second} say different things of one room. "
            "Correct one of them and restart the gateway."
        )


class StreamLostError(Exception):
    """The realtime stream ended; a new one may be opened."""

    def __init__(self, reason: str, *, retry_after_s: float = 0.0) -> None:
        """Say why.

        Args:
            reason: a short name for the row, for example `silent` or `stream_closed`.
            retry_after_s: the server's wish; 0: none.
        """
        super().__init__(reason)
        self.reason = reason
        self.retry_after_s = retry_after_s


class StateUnusableError(Exception):
    """The state file cannot be used; the text says why and what to do."""

    def __init__(self, text: str, *, may_pass: bool = False) -> None:
        """Say why.

        Args:
            text: why, and what to do.
            may_pass: whether a later start may succeed by itself: a lock, a full disk.
        """
        super().__init__(text)
        self.may_pass = may_pass
