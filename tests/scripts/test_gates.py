"""Each gate finds what it is there for: a gate that checks nothing would be green."""

import shutil
from pathlib import Path

import pytest

from hermes_chatto.scripts import gates
from hermes_chatto.tests.scripts.checkouts import ROOT, Checkout

RUN_ONE = '''
"""Run the gate that is named."""

import sys

from . import gates

named = {gate.name: gate for gate in gates.GATES}
code, output = gates.run(named[sys.argv[1]])
sys.stdout.write(output)
sys.exit(code)
'''
FLAWED = '''
"""Flawed."""


def number() -> int:
    """Return what is none."""
    unused = 1
    return  "one"
'''


@pytest.mark.timeout(120)
@pytest.mark.parametrize("gate", gates.GATES, ids=lambda gate: gate.name)
def test_gate_finds_flaws(tmp_path: Path, gate: gates.Gate) -> None:
    """In the plugin and in its tests."""
    checkout = Checkout(tmp_path)
    shutil.copy(ROOT / "pyproject.toml", checkout.root)
    flawed = [Path("machines", "flawed.py"), Path("tests", "machines", "spoilt.py")]
    for path in flawed:
        (checkout.root / path.parent).mkdir(parents=True)
        (checkout.root / path).write_text(FLAWED.lstrip())
    (checkout.root / "scripts" / "one.py").write_text(RUN_ONE.lstrip())

    ended = checkout.module("one", gate.name)

    assert ended.code == 1
    assert [path.name for path in flawed if path.name not in ended.out] == []
