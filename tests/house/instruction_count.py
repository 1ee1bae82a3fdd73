#!/usr/bin/env python3
"""instruction_count.py CUBIN NAME=MOST...: machine instructions per element of the kernels of instruction_count.cu.

Counts what ptxas put into .text.NAME of a cubin, 16 bytes an instruction (compute capability 7.0 and later), padding
left out, and divides by eight. All of the kernel is counted: addresses, and key sums that a loop would have outside.
Fails where a kernel has more than MOST instructions an element.
"""
import sys

from kernel_limits import instructions

GROUP = 8


def main():
    with open(sys.argv[1], "rb") as file:
        counts = instructions(file.read())
    failed = False
    for limit in sys.argv[2:]:
        name, most = limit.split("=")
        each = counts[name] / GROUP
        failed |= each > float(most)
        print(f"{name:28} {counts[name]:4} instructions, {each:6.2f} an element (at most {most})")
    return 1 if failed else 0


sys.exit(main())
