"""The generated protobuf messages that the edge uses, imported at this one place.

chattolib brings them as a top-level package `chatto`, importable once `chattolib._pb` is, and
without types. What handles one calls its type `Proto`: dynamic, and visibly so.
"""

import importlib
from typing import Any, TypeAlias

import chattolib._pb  # noqa: F401 - makes the generated packages importable

__all__ = [
    "Proto",
    "directory",
    "members",
    "messages",
    "notifications",
    "preferences",
    "presence",
    "reactions",
    "realtime",
    "rooms",
    "threads",
    "timeline",
    "viewer",
]

Proto: TypeAlias = Any
"""A generated message, or a module of them."""

directory: Proto = importlib.import_module("chatto.api.v1.room_directory_pb2")
members: Proto = importlib.import_module("chatto.api.v1.member_directory_pb2")
messages: Proto = importlib.import_module("chatto.api.v1.messages_pb2")
notifications: Proto = importlib.import_module("chatto.api.v1.notifications_pb2")
preferences: Proto = importlib.import_module("chatto.api.v1.notification_preferences_pb2")
presence: Proto = importlib.import_module("chatto.api.v1.presence_pb2")
reactions: Proto = importlib.import_module("chatto.api.v1.reactions_pb2")
realtime: Proto = importlib.import_module("chatto.realtime.v1.realtime_pb2")
rooms: Proto = importlib.import_module("chatto.api.v1.rooms_pb2")
threads: Proto = importlib.import_module("chatto.api.v1.threads_pb2")
timeline: Proto = importlib.import_module("chatto.api.v1.room_timeline_pb2")
viewer: Proto = importlib.import_module("chatto.api.v1.viewer_pb2")
