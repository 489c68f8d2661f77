"""The gateway loads the plugin once per profile: two copies of each module, nothing shared."""

import json
import os
import sys
from pathlib import Path

import anyio
from anyio.abc import ByteReceiveStream
from anyio.streams.buffered import BufferedByteReceiveStream

from hermes_chatto.actors.sandbox.stage import colleague

ROOT = Path(__file__).parents[3]
PROGRAM = Path(__file__).with_name("two_copies.py")


async def test_two_copies_in_one_process_answer_each_for_its_own_account(
    tmp_path: Path, home: Path
) -> None:
    """Against one server, in one room; no object of one is known to the other (handed S45)."""
    (tmp_path / "plugins").mkdir()
    for copy in ("first_copy", "second_copy"):
        (tmp_path / "plugins" / copy).symlink_to(ROOT, target_is_directory=True)
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(sys.path),
        "HOME": str(home),
        "HERMES_HOME": str(home),
    }
    async with colleague(tmp_path / "stage", is_started=False) as stage:
        athene = stage.sandbox.add_account("athene")
        stage.sandbox.add_members(stage.sandbox.room("R1"), athene)
        command = [
            sys.executable,
            str(PROGRAM),
            stage.url,
            str(tmp_path / "plugins"),
            str(tmp_path),
        ]
        async with await anyio.open_process(command, env=environment) as running:
            assert isinstance(running.stdout, ByteReceiveStream)
            lines = BufferedByteReceiveStream(running.stdout)
            for _ in range(2):
                assert await lines.receive_until(b"\n", 1_000) == b"live"
            asked = stage.posts("alice", "@hermes @athene hi")
            found = json.loads(await lines.receive_until(b"\n", 100_000))

        answers = {
            login: [post.in_reply_to for post in stage.sandbox.world.log.messages_by(user_id)]
            for login, user_id in (("hermes", stage.ids["hermes"]), ("athene", athene.id))
        }
    assert found["shared"] == []
    assert found["modules"] > 50
    assert answers == {"hermes": [asked], "athene": [asked]}
