"""The command `softamp` of an installed package: this process becomes the program. Nothing else is imported: it starts at once."""

import os
import sys


def main() -> None:
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "softamp", "bin", "softamp")
    os.execv(program, ["softamp", *sys.argv[1:]])
