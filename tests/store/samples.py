"""Rows as the sessions write them, with plain values; a test names only what it is about."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlite_utils import Database

from hermes_chatto.machines.catalogue import CHARTS
from hermes_chatto.store import glossary, outbox, transitions, turns
from hermes_chatto.store.connection import ConnectionRow
from hermes_chatto.store.glossary import EntryRow
from hermes_chatto.store.loops import LoopRow
from hermes_chatto.store.outbox import PartRow
from hermes_chatto.store.pins import PinRow
from hermes_chatto.store.prompts import PromptRow
from hermes_chatto.store.room_sessions import RoomSessionRow
from hermes_chatto.store.threads import ThreadRow
from hermes_chatto.store.transitions import TransitionRow
from hermes_chatto.store.turns import TurnRow

NOW = datetime(2026, 5, 4, 12, 0, 0, tzinfo=UTC)
SCOPE = "default"


def at(seconds: float = 0) -> str:
    """Return a moment as rows keep it."""
    moment = NOW + timedelta(seconds=seconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def turn(message_id: str = "m1", **columns: Any) -> TurnRow:  # noqa: ANN401  any column
    """Return a turn that was received."""
    row = TurnRow(
        scope=SCOPE,
        message_id=message_id,
        room_id="r1",
        room_name="general",
        room_kind="channel",
        thread_root_id=message_id,
        session_key=f"chatto:r1:{message_id}",
        author_id="u1",
        author_name="Ada",
        body="what is the time?",
        digest="d1",
        attachment_ids="[]",
        in_reply_to=None,
        posted_at=at(),
        received_at=at(),
        lane_order=0,
        state="received",
        reason=None,
        cause="mention",
        attempt=0,
        carrier_id=None,
        ends_as=None,
        ended_by=None,
        ended_with=None,
        thread_before=None,
        frontier_before=None,
        holding_before=None,
        session_token=None,
        command=None,
        asks=0,
        sign=None,
        let_in_by=None,
        updated_at=at(),
        closed_at=None,
    )
    return row._replace(**columns)


def pin(login: str = "ada", **columns: Any) -> PinRow:  # noqa: ANN401  any column
    """Return whom a login in the list of allowed people means."""
    return PinRow(SCOPE, "allowed_users", login, "u1", at())._replace(**columns)


def loop(key: str = "u2", **columns: Any) -> LoopRow:  # noqa: ANN401  any column
    """Return what a program caused."""
    return LoopRow(SCOPE, "pair", key, "r1", 1, at())._replace(**columns)


def part(outbox_id: str = "m1:a/1", **columns: Any) -> PartRow:  # noqa: ANN401  any column
    """Return a part of the answer to a turn; delivery and number are read off its ID."""
    delivery_id, _, number = outbox_id.partition("/")
    row = PartRow(
        scope=SCOPE,
        outbox_id=outbox_id,
        delivery_id=delivery_id,
        turn_id=delivery_id.partition(":")[0],
        kind="answer",
        part=int(number),
        parts=1,
        room_id="r1",
        thread_root_id="m1",
        in_reply_to=None,
        body="noon",
        bytes=4,
        digest="d2",
        state="pending",
        reason=None,
        attempt=0,
        message_id=None,
        created_at=at(1),
        updated_at=at(1),
    )
    return row._replace(**columns)


def thread(session_key: str = "chatto:r1:m1", **columns: Any) -> ThreadRow:  # noqa: ANN401
    """Return a thread whose session holds it up to its first message."""
    row = ThreadRow(
        scope=SCOPE,
        session_key=session_key,
        room_id="r1",
        room_kind="channel",
        thread_root_id="m1",
        state="seeded",
        frontier_id="m1",
        frontier_at=at(),
        ahead_ids="[]",
        owed_ids="[]",
        blind_until_id=None,
        session_token="t1",  # noqa: S106 - a name, no secret
        token_kept_at=None,
        gap=1,
        created_at=at(),
        updated_at=at(),
    )
    return row._replace(**columns)


def room_session(message_id: str = "m1", **columns: Any) -> RoomSessionRow:  # noqa: ANN401
    """Return a room session that knows nothing of the room."""
    row = RoomSessionRow(
        scope=SCOPE,
        message_id=message_id,
        room_id="r1",
        session_key=f"chatto:r1:{message_id}",
        state="blind",
        reason=None,
        created_at=at(),
        updated_at=at(),
    )
    return row._replace(**columns)


def prompt(outbox_id: str = "m1:a/1", **columns: Any) -> PromptRow:  # noqa: ANN401  any column
    """Return a question of a run that waits for its answer."""
    row = PromptRow(
        scope=SCOPE,
        outbox_id=outbox_id,
        turn_id="m1",
        kind="approval",
        state="open",
        reason=None,
        message_id="p1",
        settled_by=None,
        created_at=at(),
        updated_at=at(),
    )
    return row._replace(**columns)


def connection(**columns: Any) -> ConnectionRow:  # noqa: ANN401  any column
    """Return a connection that is live."""
    row = ConnectionRow(
        scope=SCOPE,
        server_url="https://chat.example",
        state="live",
        reason=None,
        attempt=0,
        gap=1,
        account_id="u9",
        server_version="0.4.20",
        updated_at=at(),
    )
    return row._replace(**columns)


def step(path: str, **columns: Any) -> TransitionRow:  # noqa: ANN401  any column
    """Return a transition, written `machine: event from->to`; a beginning has no `from`."""
    machine, _, rest = path.partition(": ")
    event, _, states = rest.partition(" ")
    source, _, target = states.partition("->")
    row = TransitionRow(
        scope=SCOPE,
        at=at(),
        machine=machine,
        key="m1",
        message_id="m1",
        event=event,
        from_state=source or None,
        to_state=target,
        reason=None,
        detail=None,
    )
    return row._replace(**columns)


def receive(db: Database, message_id: str = "m1", **columns: Any) -> TurnRow:  # noqa: ANN401
    """Write a receipt, let it get on to what the columns say, and return it as stored."""
    row = turn(message_id, **columns)
    turns.receive(db, row)
    found = turns.find(db, SCOPE, message_id)
    assert found is not None
    return found


def post(db: Database, outbox_id: str = "m1:a/1", **columns: Any) -> PartRow:  # noqa: ANN401
    """Write a part and return it."""
    row = part(outbox_id, **columns)
    outbox.add(db, row)
    return row


def tell(db: Database, *steps: TransitionRow) -> None:
    """Write steps in their order."""
    for row in steps:
        transitions.add(db, row)


def explain(db: Database, **words: str) -> None:
    """Fill the glossary with `kind_word="meaning"`."""
    entries = list[EntryRow]()
    for name, meaning in words.items():
        kind, _, word = name.partition("_")
        entries.append(EntryRow(kind, word, meaning))
    glossary.save(db, entries)


def ago(seconds: float) -> str:
    """Return a moment before now, as rows keep it."""
    moment = datetime.now(UTC) - timedelta(seconds=seconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def explain_states(db: Database) -> None:
    """Fill the glossary as the sessions do, with one reason besides."""
    entries = [
        EntryRow(chart.MACHINE, state, meaning)
        for chart in CHARTS
        for state, meaning in chart.MEANING.items()
    ]
    reason = EntryRow("reason", "not_taken", "the gateway did not begin a run in time")
    glossary.save(db, [*entries, reason])


def view(db: Database, name: str, *columns: str, where: str = "1") -> list[Any]:
    """Return the lines of a view: of several columns as mappings, of one its values."""
    lines: list[Mapping[str, Any]] = list(db.query(f"select * from {name} where {where}"))  # noqa: S608
    if len(columns) == 1:
        return [line[columns[0]] for line in lines]
    return [{column: line[column] for column in columns or line} for line in lines]


def changed(before: Any, **columns: Any) -> str:  # noqa: ANN401  any row
    """Return the detail of a transition that changed these columns of a row."""
    assert set(columns) <= set(before._fields)
    return json.dumps(columns, separators=(",", ":"))
