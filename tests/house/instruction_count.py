#!/usr/bin/env python3
"""instruction_count.py CUBIN NAME=MOST...: machine instructions per element of the kernels of instruction_count.cu.

Counts what ptxas put into .text.NAME of a cubin, 16 bytes an instruction (compute capability 7.0 and later), padding
left out, and divides by eight. All of the kernel is counted: addresses, and key sums that a loop would have outside.
Fails where a kernel has more than MOST instructions an element.
"""
import struct
import sys

BYTES, NOP, GROUP = 16, 0x918, 8


def sections(image):
    """Name and contents of each section of a 64-bit ELF file."""
    (start,) = struct.unpack_from("<Q", image, 40)
    size, count, names = struct.unpack_from("<HHH", image, 58)
    headers = [struct.unpack_from("<IIQQQQ", image, start + i * size) for i in range(count)]
    for name, _, _, _, offset, length in headers:
        begin = headers[names][4] + name
        yield image[begin : image.index(b"\0", begin)].decode(), image[offset : offset + length]


def main():
    with open(sys.argv[1], "rb") as file:
        kernels = {name[6:]: code for name, code in sections(file.read()) if name.startswith(".text.")}
    failed = False
    for limit in sys.argv[2:]:
        name, most = limit.split("=")
        opcodes = [word & 0xFFF for word, _ in struct.iter_unpack("<QQ", kernels[name])]
        # The last instruction but padding is a branch to itself behind the end.
        instructions = sum(opcode != NOP for opcode in opcodes) - 1
        each = instructions / GROUP
        failed |= each > float(most)
        print(f"{name:28} {instructions:4} instructions, {each:6.2f} an element (at most {most})")
    return 1 if failed else 0


sys.exit(main())
