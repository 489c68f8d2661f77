"""The generated protobuf messages, imported at this one place.

chattolib ships them as a top-level package `chatto` that becomes importable with
`chattolib._pb`, and without type stubs. So each protobuf package is gathered here into one
namespace (`api.Message` is `chatto.api.v1.Message`), and whatever handles a generated message
calls its type `Proto`: dynamic, and visibly so.
"""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from types import ModuleType, SimpleNamespace
from typing import Any, TypeAlias

from chattolib import _pb
from google.protobuf import json_format, message_factory, timestamp_pb2
from google.protobuf.message import DecodeError

Proto: TypeAlias = Any
"""A generated message, message class, descriptor or namespace of them."""


def _modules(package: str) -> Iterator[ModuleType]:
    folder = importlib.import_module(package)
    for found in pkgutil.iter_modules(folder.__path__):
        if found.name.endswith("_pb2"):
            yield importlib.import_module(f"{package}.{found.name}")


def _gather(package: str) -> Proto:
    """Collect the messages, enum values and services of one protobuf package.

    Services stand in the attribute `services`, as descriptors by full name.
    """
    namespace: dict[str, Any] = {"services": {}}
    for module in _modules(package):
        file = module.DESCRIPTOR
        for name in file.message_types_by_name:
            namespace[name] = getattr(module, name)
        for enum in file.enum_types_by_name.values():
            namespace.update({value.name: value.number for value in enum.values})
        for service in file.services_by_name.values():
            namespace["services"][service.full_name] = service
    return SimpleNamespace(**namespace)


VENDORED = tuple(_pb.__path__)
"""Where chattolib keeps the generated packages; importing `_pb` put it on `sys.path`."""

api: Proto = _gather("chatto.api.v1")
admin: Proto = _gather("chatto.admin.v1")
discovery: Proto = _gather("chatto.discovery.v1")
wire: Proto = _gather("chatto.realtime.v1")
field_rules: Proto = importlib.import_module("buf.validate.validate_pb2").field

SERVICES: Mapping[str, Proto] = {
    **api.services,
    **admin.services,
    **discovery.services,
    **_gather("chatto.auth.v1").services,
}
"""Every Connect service of the server, as descriptors by full name."""


def message_class(descriptor: Proto) -> Proto:
    """Return the message class of a message descriptor."""
    return message_factory.GetMessageClass(descriptor)


def parse_binary(encoded: bytes, message: Proto) -> Proto:
    """Read the binary form of a message of this class.

    Raises:
        ValueError: the bytes are not the binary form of that message.
    """
    try:
        return message.FromString(encoded)
    except DecodeError as error:
        raise ValueError(str(error)) from error


def parse_json(text: str, into: Proto) -> Proto:
    """Read the JSON form of a message.

    Raises:
        ValueError: the text is not the JSON form of that message.
    """
    try:
        return json_format.Parse(text, into, ignore_unknown_fields=True)
    except json_format.ParseError as error:
        raise ValueError(str(error)) from error


def write_json(message: Proto) -> str:
    """Return the JSON form of a message on one line."""
    written: str = json_format.MessageToJson(message, indent=None)
    return written


def at(nanoseconds: int) -> Proto:
    """Return the Timestamp of a time in nanoseconds since 1970."""
    seconds, nanos = divmod(nanoseconds, 1_000_000_000)
    return timestamp_pb2.Timestamp(seconds=seconds, nanos=nanos)


def nanoseconds(timestamp: Proto) -> int:
    """Return a Timestamp as nanoseconds since 1970."""
    return int(timestamp.seconds) * 1_000_000_000 + int(timestamp.nanos)
