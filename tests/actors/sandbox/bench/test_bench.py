"""The benchmark runs: little of everything, in seconds, and leaves nothing but its file."""

import json
import tempfile
from pathlib import Path

import pytest

from hermes_chatto.actors.sandbox.bench.__main__ import MEASURES, main
from hermes_chatto.actors.sandbox.bench.figures import (
    Figure,
    at_least,
    at_most,
    percentile,
    table_of,
)


@pytest.mark.timeout(120)
def test_reduced_run_measures_everything_and_leaves_one_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a busy machine makes of the numbers, those that are counted are met."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "work"))
    (tmp_path / "work").mkdir()
    output = tmp_path / "kept" / "bench.json"

    code = main(["--reduced", "--output", str(output)])

    kept = json.loads(output.read_text())
    figures = {figure["name"]: figure for each in kept["measures"] for figure in each["figures"]}
    said = capsys.readouterr().out
    assert code == 0
    assert len(kept["measures"]) == len(MEASURES)
    assert all(name in said for name in figures)
    assert figures["commits between frame and agent, most"]["is_met"]
    assert figures["commits meanwhile"]["is_met"]
    assert figures["calls of the server meanwhile"]["is_met"]
    assert list((tmp_path / "work").iterdir()) == []


def test_figure_tells_median_spread_and_whether_its_target_is_met() -> None:
    """The rounds are kept, too."""
    figure = Figure("time", "ms", [4.0, 1.0, 2.0], at_most(2), "note")

    assert figure.as_json() == {
        "name": "time",
        "unit": "ms",
        "median": 2.0,
        "least": 1.0,
        "most": 4.0,
        "rounds": [4.0, 1.0, 2.0],
        "target": "<= 2",
        "is_met": True,
        "note": "note",
    }
    assert not Figure("rate", "/s", [0.4], at_least(0.5)).is_met
    assert Figure("rate", "/s", [0.4]).is_met is None


def test_table_has_a_line_for_each_figure() -> None:
    """Missed ones cannot be overlooked."""
    table = table_of([Figure("a", "ms", [1234.5], at_most(2)), Figure("bb", "x", [0.5])])

    first, second = table.splitlines()
    assert "1,234" in first
    assert first.endswith("MISSED")
    assert second.startswith("bb")


def test_percentile_lies_within_the_values() -> None:
    """Also of one value."""
    assert percentile([3.0], 99) == 3.0
    assert 98 <= percentile([float(n) for n in range(101)], 99) <= 100
