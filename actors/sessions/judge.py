"""Gather what a decision about a message of a room rests on, and ask admission."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from .admission import Admitted, Inbound, Path, Verdict, admit
from .batch import Batch
from .facts import Message, Place, Room, RoomKind
from .services import Services
from .standing import Standing, Standings
from .stream_events import Target
from .unannounced import Unannounced

__all__ = ["Judge"]


class Judge:
    """Decides about messages of rooms; records nothing."""

    def __init__(self, services: Services, unannounced: Unannounced) -> None:
        """Judge what is said in one room.

        Args:
            services: what the actors of the profile share.
            unannounced: what of the room was edited by nobody knows whom.
        """
        self._services = services
        self._standings = Standings(services)
        self._unannounced = unannounced

    async def of_posts(
        self, room: Room, messages: Mapping[str, Message], batch: Batch
    ) -> dict[str, Verdict]:
        """Decide about messages in their order: one may go on what another asked before it.

        Raises:
            ChatError: what a message points at could not be read.
        """
        standings = await self._standings.of(room, list(messages.values()))
        verdicts = dict[str, Verdict]()
        asked = list[tuple[Place, str]]()
        for id_, message in messages.items():
            standing = standings[id_]
            for place, asker_id in asked:
                if place == standing.place:
                    standing = standing.after_question_of(asker_id, message.author_id)
            path = batch.path_of(id_)
            inbound = self._inbound(
                room,
                message,
                standing,
                path,
                says_mentioned=batch.is_mentioned(id_),
                now=self._asked_at(batch, path),
                targets=batch.targets_of(id_),
            )
            verdict = admit(inbound, self._services.policy)
            verdict = self._unannounced.verdict(message, batch.known.get(id_), path, verdict)
            if isinstance(verdict, Admitted):
                asked.append((standing.place, message.author_id))
            verdicts[id_] = verdict
        return verdicts

    async def of_edits(
        self, room: Room, messages: Sequence[Message], path: Path
    ) -> Mapping[str, Verdict]:
        """Decide about edited messages. Raises: ChatError, as `of_posts`."""
        standings = await self._standings.of(room, messages)
        return {
            message.message_id: admit(
                self._inbound(
                    room, message, standings[message.message_id], path, says_mentioned=False
                ),
                self._services.policy,
            )
            for message in messages
        }

    def _asked_at(self, batch: Batch, path: Path) -> datetime | None:
        """Return the server's time by which a message may be too old; None: it cannot be."""
        if path is Path.CAUGHT_UP:
            return batch.asked_at
        is_late = path in {Path.RECOVERED, Path.REPLAYED}
        return self._services.server.server_time() if is_late else None

    def _inbound(  # noqa: PLR0913 - each is a fact the decision rests on
        self,
        room: Room,
        message: Message,
        standing: Standing,
        path: Path,
        *,
        says_mentioned: bool,
        now: datetime | None = None,
        targets: tuple[Target, ...] | None = None,
    ) -> Inbound:
        services = self._services
        account = services.directory.account
        window = timedelta(seconds=services.limits.resume_window_s)
        return Inbound(
            message=message,
            room=room,
            path=path,
            own_id=account.user_id,
            own_login=account.login,
            author_may_speak=services.gateway.may_speak(message.author_id, standing.place),
            is_pair=room.kind is RoomKind.DIRECT
            and services.server.is_pair(room.room_id, message.author_id),
            server_says_mentioned=says_mentioned,
            replies_to_own=standing.replies_to_own,
            answered_here=standing.answered_here,
            author_is_asker=standing.author_is_asker,
            targets=targets,
            is_too_old=now is not None and now - message.created_at > window,
        )
