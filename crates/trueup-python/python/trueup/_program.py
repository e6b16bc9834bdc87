"""The program `trueup`, which the package installs: the command line of trueup, in a process of Python."""

from __future__ import annotations

import os
import shutil
import signal
import sys

from ._trueup import run_program


def main() -> int:
    """Run the program with the arguments of this process, and return its exit code."""
    # Ctrl-C ends a program that does not handle it. If it is ignored, as in the background of a shell, it stays so.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # A file that the program opens must not take the number of a stream that is closed: messages would be written into it.
    for stream in range(3):
        try:
            os.fstat(stream)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    # Python knows the program by its path, also if a shell has found it by its name.
    path = sys.argv[0]
    name = "trueup" if shutil.which("trueup") == path else path
    return run_program([name, *sys.argv[1:]])
