"""`./dev check`: every tool that reads the code, one after the other."""

import sys
import time

from . import diagrams, gates

__all__ = ["main"]


def main() -> int:
    """Run all gates and say how each ended.

    Returns:
        0 when all agree, else 1.
    """
    failed = 0
    for gate in gates.GATES:
        began = time.monotonic()
        code, output = gates.run(gate)
        seconds = time.monotonic() - began
        sys.stdout.write(f"{gate.name:<12} {'ok' if code == 0 else 'FAILED':<7}{seconds:5.1f} s\n")
        if code:
            failed += 1
            sys.stdout.write(f"{output}\n  {gate.remedy}\n")
        sys.stdout.flush()
    return 1 if diagrams.main(["--check"]) or failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
