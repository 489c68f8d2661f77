"""Start of every `./dev` command; legal in any Python, so that an old one can be told so."""

import importlib
import os
import signal
import sys

# Until the commands take over, Ctrl-C ends the process without a traceback.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

if sys.version_info < (3, 11):  # noqa: UP036 - this is the one place an old Python reaches
    sys.stderr.write(
        "dev: this needs Python 3.11, 3.12 or 3.13, and %s is %d.%d.%d.\n"  # noqa: UP031
        "     Install one of them, or name one: PYTHON=/path/to/python3.13 ./dev help\n"
        % ((sys.executable,) + tuple(sys.version_info[:3]))  # noqa: RUF005 - nor can it unpack
    )
    sys.exit(2)

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120
sys.exit(importlib.import_module("scripts.commands").main(sys.argv[1:]))
