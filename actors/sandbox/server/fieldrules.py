"""Field rules of requests, read from the options in the protobuf descriptors.

They are checked before a handler sees the request, in field order; the texts are those of the
validator the server uses.
Source: Chatto 0.4.20, proto/chatto/api/v1/*.proto (buf.validate options); protovalidate.
"""

import re
from collections.abc import Callable, Iterator

from .pb import Proto, field_rules
from .refusals import RefusedError, invalid

Check = Callable[[Proto], str | None]
"""Looks at one value; the text of the rule it breaks, or None."""


class FieldRules:
    """The rules of every request type seen so far."""

    def __init__(self) -> None:
        """Start without any; each type's rules are read once, at its first request."""
        self._types: dict[str, list[_Field]] = {}

    def check(self, request: Proto) -> None:
        """Pass a request that keeps all rules of its type.

        Raises:
            RefusedError: `invalid_argument` with every broken rule and its field.
        """
        broken = list(self._violations(request, ""))
        if broken:
            raise _violation_error(broken)

    def _violations(self, message: Proto, prefix: str) -> Iterator[str]:
        for field in self._fields(message.DESCRIPTOR):
            yield from field.violations(message, prefix)
            if field.is_message and message.HasField(field.name):
                yield from self._violations(getattr(message, field.name), f"{prefix}{field.name}.")

    def _fields(self, descriptor: Proto) -> list["_Field"]:
        known = self._types.get(descriptor.full_name)
        if known is None:
            known = [_Field(field) for field in descriptor.fields]
            self._types[descriptor.full_name] = known
        return known


class _Field:
    """The rules of one field."""

    def __init__(self, descriptor: Proto) -> None:
        rules = descriptor.GetOptions().Extensions[field_rules]
        self.name: str = descriptor.name
        self.is_message = descriptor.message_type is not None and not descriptor.is_repeated
        self._is_repeated: bool = descriptor.is_repeated
        self._has_presence: bool = descriptor.has_presence
        self._checks = list(_checks(rules, descriptor.enum_type))
        items = rules.repeated.items
        self._item_checks = list(_checks(items, None)) if self._is_repeated else []

    def violations(self, message: Proto, prefix: str) -> Iterator[str]:
        if self._has_presence and not message.HasField(self.name):
            return
        value = getattr(message, self.name)
        yield from _broken(self._checks, value, f"{prefix}{self.name}")
        for position, item in enumerate(value if self._item_checks else ()):
            yield from _broken(self._item_checks, item, f"{prefix}{self.name}[{position}]")


def _broken(checks: list[Check], value: Proto, path: str) -> Iterator[str]:
    for check in checks:
        text = check(value)
        if text is not None:
            yield f"{path}: {text}"


def _violation_error(broken: list[str]) -> RefusedError:
    if len(broken) == 1:
        return invalid(f"validation error: {broken[0]}")
    return invalid("validation errors:\n - " + "\n - ".join(broken))


def _checks(rules: Proto, enum: Proto | None) -> Iterator[Check]:
    match rules.WhichOneof("type"):
        case "string":
            yield from _text_checks(rules.string)
        case "bytes" if rules.bytes.HasField("min_len"):
            yield _at_least(rules.bytes.min_len, "bytes", len)
        case "repeated":
            yield from _list_checks(rules.repeated)
        case "int32" | "int64" as kind:
            yield from _number_checks(getattr(rules, kind))
        case "enum":
            yield from _enum_checks(rules.enum, enum)


def _text_checks(rules: Proto) -> Iterator[Check]:
    if rules.HasField("min_len"):
        yield _at_least(rules.min_len, "characters", len)
    if rules.HasField("max_len"):
        yield _at_most(rules.max_len, "characters", len)
    if rules.HasField("max_bytes"):
        yield _at_most(rules.max_bytes, "bytes", lambda text: len(text.encode()))
    if rules.HasField("pattern"):
        pattern = re.compile(rules.pattern.replace("$", r"\Z"))
        text = f"does not match regex pattern `{rules.pattern}`"
        yield lambda value: None if pattern.search(value) else text


def _list_checks(rules: Proto) -> Iterator[Check]:
    if rules.HasField("min_items"):
        least, few = rules.min_items, f"must contain at least {rules.min_items} item(s)"
        yield lambda items: few if len(items) < least else None
    if rules.HasField("max_items"):
        most, many = rules.max_items, f"must contain no more than {rules.max_items} item(s)"
        yield lambda items: many if len(items) > most else None


def _number_checks(rules: Proto) -> Iterator[Check]:
    low = rules.gte if rules.HasField("gte") else None
    high = rules.lte if rules.HasField("lte") else None
    bounds = [
        f"{relation} than or equal to {bound}"
        for relation, bound in (("greater", low), ("less", high))
        if bound is not None
    ]
    text = f"must be {' and '.join(bounds)}"

    def check(value: Proto) -> str | None:
        too_low = low is not None and value < low
        too_high = high is not None and value > high
        return text if too_low or too_high else None

    if bounds:
        yield check


def _enum_checks(rules: Proto, enum: Proto | None) -> Iterator[Check]:
    if enum is not None and rules.defined_only:
        defined, unknown = enum.values_by_number, "value must be one of the defined enum values"
        yield lambda value: None if value in defined else unknown
    excluded = tuple(rules.not_in)
    if excluded:
        listed = ", ".join(str(value) for value in excluded)
        yield lambda value: f"must not be in list [{listed}]" if value in excluded else None


def _at_least(bound: int, unit: str, measure: Callable[[Proto], int]) -> Check:
    text = f"must be at least {bound} {unit}"
    return lambda value: text if measure(value) < bound else None


def _at_most(bound: int, unit: str, measure: Callable[[Proto], int]) -> Check:
    text = f"must be at most {bound} {unit}"
    return lambda value: text if measure(value) > bound else None
