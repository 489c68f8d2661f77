"""Holds a folder until it is killed. Usage: folder_holder.py FOLDER HOW.

HOW is `alone`; `fork`: with a child that runs on, in a copy of this process; `exec`: with another
program as its child. Prints a line once it holds the folder; of the child, its process ID.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

from hermes_chatto.store.folder_lock import FolderLock

FOR_EVER_S = 60

lock = FolderLock(Path(sys.argv[1]))
lock.acquire()
child = 0
if sys.argv[2] == "fork":
    ear, mouth = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(mouth, b"!")
        time.sleep(FOR_EVER_S)
        os._exit(0)
    os.read(ear, 1)  # it runs
elif sys.argv[2] == "exec":
    child = subprocess.Popen(["/bin/sleep", str(FOR_EVER_S)], close_fds=False).pid
print(child, flush=True)  # noqa: T201 - whoever started it waits for the line
time.sleep(FOR_EVER_S)
