"""`python -m hermes_chatto.actors.sandbox.campaign [--kills N] [--gateway N] [--seed S]`."""

import sys

from .command import run

if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
