"""The tools that read the code are part of the suite: one command tells everything."""

import pytest

from hermes_chatto.scripts import gates


@pytest.mark.timeout(300)
@pytest.mark.parametrize("gate", gates.GATES, ids=lambda gate: gate.name)
def test_gate_has_no_objection(gate: gates.Gate) -> None:
    """What `./dev check` runs; the tool's own output tells what to change."""
    code, output = gates.run(gate)

    assert code == 0, f"{gate.remedy}\n{output}"
