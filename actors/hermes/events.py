"""What the gateway is given: the source of a place, the key it derives, a turn as its event."""

from collections.abc import Callable
from enum import Enum

from gateway.platforms.base import BasePlatformAdapter, MessageEvent, MessageType
from gateway.session import SessionSource, build_session_key

from ..sessions.facts import Person, Place, RoomKind
from ..sessions.inert import quotable_name
from ..sessions.ports import TurnOrder

__all__ = ["ChatType", "GatewayEvents", "chat_type", "key_of_source"]


class ChatType(Enum):
    """The gateway's word for a place; it is part of every session key, so never change one."""

    THREAD = "thread"
    DIRECT = "dm"


class GatewayEvents:
    """Writes places and turns as the gateway's own objects."""

    def __init__(self, adapter: BasePlatformAdapter, is_listed: Callable[[str], bool]) -> None:
        """Write for an adapter.

        Args:
            adapter: its base class makes the sources.
            is_listed: whether the operator's list lets an account in; the gateway is told.
        """
        self._adapter = adapter
        self._is_listed = is_listed

    def source(self, place: Place) -> SessionSource:
        """Return the source of a place, with nobody speaking."""
        return self._source(place, None)

    def event(self, order: TurnOrder) -> MessageEvent:
        """Return the event of one turn, or command."""
        event = MessageEvent(
            text=order.text,
            message_type=MessageType.TEXT,
            source=self._source(order.place, order),
            message_id=order.message_id,
            timestamp=order.posted_at,
            channel_context=order.context,
        )
        extras: dict[str, object] = {
            "user_id": order.author.user_id,
            "user_name": _name(order.author),
            "channel_prompt": order.prompt,
        }
        if order.reply_to_id is not None and order.reply_to_text is not None:
            extras |= _reply(order)
        if order.is_for_the_agent and event.is_command():
            # The gateway reads more as a command than admission does: `/new@anything`, and what
            # stands behind a reference. What was not taken for one must not become one here.
            extras["allow_gateway_control"] = False
        for name, value in extras.items():
            if hasattr(event, name):  # 0.19 knows fewer
                setattr(event, name, value)
        return event

    def _source(self, place: Place, order: TurnOrder | None) -> SessionSource:
        author = order.author if order else None
        return self._adapter.build_source(
            chat_id=place.room_id,
            chat_name=_chat_name(place, order),
            chat_type=chat_type(place).value,
            thread_id=place.thread_root_id,
            user_id=author.user_id if author else None,
            user_name=_name(author) if author else None,
            message_id=order.message_id if order else None,
            role_authorized=bool(author and self._is_listed(author.user_id)),
        )


def key_of_source(adapter: BasePlatformAdapter, source: SessionSource) -> str:
    """Return the key the adapter's base class derives for a source.

    Source: Hermes 0.22, BasePlatformAdapter._source_session_key; 0.19 has no such method and
    builds it in place from the same two extras.
    """
    derive = getattr(adapter, "_source_session_key", None)
    if derive is not None:
        return str(derive(source))
    extra = adapter.config.extra
    key = build_session_key(
        source,
        group_sessions_per_user=extra.get("group_sessions_per_user", True),
        thread_sessions_per_user=extra.get("thread_sessions_per_user", False),
    )
    return str(key)


def chat_type(place: Place) -> ChatType:
    """Return the gateway's word for a place."""
    return ChatType.DIRECT if place.kind is RoomKind.DIRECT else ChatType.THREAD


def _reply(order: TurnOrder) -> dict[str, object]:
    author = order.reply_to_author
    return {
        "reply_to_message_id": order.reply_to_id,
        "reply_to_text": order.reply_to_text,
        "reply_to_author_id": author.user_id if author else None,
        "reply_to_author_name": _name(author) if author else None,
        "reply_to_is_own_message": order.reply_to_is_own,
    }


def _chat_name(place: Place, order: TurnOrder | None) -> str:
    if order is None:
        return place.room_id
    return quotable_name(order.room_name) if order.room_name else _name(order.author)


def _name(person: Person) -> str:
    """Return a name as the gateway may put it between brackets in front of what is said."""
    return quotable_name(person.display_name or person.login)
