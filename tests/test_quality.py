"""The tools that read the code are part of the suite: one command tells everything."""

from functools import partial

import pytest

from hermes_chatto.scripts import gates
from hermes_chatto.tests.beside import Beside, Runs

BESIDE: Beside = {gate.name: partial(gates.run, gate) for gate in gates.GATES}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("gate", gates.GATES, ids=lambda gate: gate.name)
def test_gate_has_no_objection(gate: gates.Gate, runs_beside: Runs) -> None:
    """What `./dev check` runs; the tool's own output tells what to change."""
    code, output = runs_beside.outcome(gate.name)

    assert code == 0, f"{gate.remedy}\n{output}"
