"""`python -m hermes_chatto.actors.sandbox.demo [--talk] [--server URL]`."""

import signal
import sys


def main() -> int:
    """Run the demo and return its exit code; Ctrl-C counts from the first line on."""
    try:
        from .command import run  # noqa: PLC0415 - a second of imports, in which Ctrl-C may come

        return run(sys.argv[1:])
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


if __name__ == "__main__":
    sys.exit(main())
