#!/usr/bin/env python3
"""tensors.py SOFTAMP [--count N]: N random files of tensors against the package safetensors, in both directions.

Its files, of every type that it writes, shapes of rank 0 to 5 and names of any letters: softamp reads each tensor of
numbers, and the values are NumPy's and ml_dtypes'. Our files, of formats of numbers and blocks: the package reads them,
finds the types, shapes and bytes of our .npy files, and writes the same tensors as the same file, byte for byte. Headers
with one fault: both refuse; what softamp alone refuses has a name below. Exit codes as in elements.py.
"""
import argparse
import json
import pathlib
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import packages  # noqa: E402

if __name__ == "__main__":
    packages.find("safetensors", "ml_dtypes", "numpy")

import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402
import safetensors  # noqa: E402

# Types as the package names them: as a file spells them, of NumPy where softamp reads them as numbers.
TYPES = {
    "float64": ("F64", np.float64), "float32": ("F32", np.float32), "float16": ("F16", np.float16),
    "bfloat16": ("BF16", ml_dtypes.bfloat16), "float8_e4m3fn": ("F8_E4M3", ml_dtypes.float8_e4m3fn),
    "float8_e5m2": ("F8_E5M2", ml_dtypes.float8_e5m2), "float8_e4m3fnuz": ("F8_E4M3FNUZ", ml_dtypes.float8_e4m3fnuz),
    "float8_e5m2fnuz": ("F8_E5M2FNUZ", ml_dtypes.float8_e5m2fnuz),
    "float8_e8m0fnu": ("F8_E8M0", ml_dtypes.float8_e8m0fnu), "bool": ("BOOL", None), "uint8": ("U8", None),
    "int8": ("I8", None), "uint16": ("U16", None), "int16": ("I16", None), "uint32": ("U32", None),
    "int32": ("I32", None), "uint64": ("U64", None), "int64": ("I64", None), "complex64": ("C64", None),
    "float4_e2m1fn_x2": ("F4", None)}
SIZES = {"F64": 8, "U64": 8, "I64": 8, "C64": 8, "F32": 4, "U32": 4, "I32": 4, "F16": 2, "BF16": 2, "U16": 2, "I16": 2}
OF_FILE = {spelt: name for name, (spelt, _) in TYPES.items()}
LETTERS = "abcXYZ019._-/ \"\\\té€😀\x01\x7f"
FORMATS = ["fp16", "bf16", "fp32", "e4m3", "e5m2", "f143", "f152", "e8m0 --rounding up", "Binary8p4se", "mxfp4",
           "mxfp4 --packed", "mxfp6_e2m3", "mxfp8_e4m3", "mxfp8_e5m2", "mxint8", "nvfp4", "nvfp4_16x16",
           "e4m3_128x128", "e5m2_tensor"]
# tests: N506
STRICTER = "refused by softamp alone: "
BLANK, UNKNOWN_KEY, TWICE, NULL = (STRICTER + what for what in (
    "a blank before '{'", "an unknown key of a tensor", "a name that stands twice", "metadata that are null"))


class Files:
    def __init__(self, softamp, verdict, seed):
        self.softamp, self.verdict, self.g = softamp, verdict, np.random.default_rng(seed)

    def fail(self, what):
        self.verdict.failed += 1
        print(what)

    def equal(self, what, ours, theirs):
        self.verdict.compared += 1
        if ours != theirs:
            self.fail(f"{what}: softamp {ours!r}, the package {theirs!r}"[:2000])

    def name(self):
        return "".join(self.g.choice(list(LETTERS), self.g.integers(1, 9)))

    def run(self, *arguments):
        return subprocess.run([self.softamp.program, "round", *arguments], capture_output=True, text=True)

    def theirs(self):
        """A file of the package's, whose tensors of numbers softamp reads."""
        tensors, kinds, buffers = {}, {}, {}
        for _ in range(self.g.integers(1, 7)):
            kind = str(self.g.choice(list(TYPES)))
            spelt = TYPES[kind][0]
            shape = [int(extent) for extent in self.g.integers(0 if self.g.random() < 0.1 else 1, 7, self.g.integers(0, 6))]
            if spelt == "F4" and not shape:
                shape = [1]  # a byte of two
            data = self.g.integers(0, 256, int(np.prod(shape, dtype=np.int64)) * SIZES.get(spelt, 1), np.uint8)
            name = self.name()
            buffers[name], kinds[name] = data, kind
            tensors[name] = safetensors.TensorSpec(dtype=kind, shape=shape, data_ptr=data.ctypes.data, data_len=data.size)
        file = pathlib.Path(self.softamp.place("in.safetensors"))
        file.write_bytes(safetensors.serialize(tensors, metadata={"format": "np"} if self.g.random() < 0.5 else None))
        for name, tensor in tensors.items():
            kind = kinds[name]
            number = TYPES[kind][1]
            done = self.run(f"{file}:{name}", self.softamp.place("out.npy"), "--format", "fp32", "--values")
            if number is None:
                self.equal(f"{name!r} of {kind}: refused", done.returncode, 2)
                continue
            if done.returncode != 0:
                self.fail(f"{name!r} of {kind}: {done.stderr}")
                continue
            values = buffers[name].view(number).reshape(tensor.shape)
            with np.errstate(all="ignore"):
                expected = packages.bits(values.astype(np.float32))
            ours = packages.bits(np.load(self.softamp.place("out.npy")))
            self.equal(f"{name!r}: shape", ours.shape, expected.shape)
            self.verdict.compare(f"{name!r} of {kind}", buffers[name], ours, expected)

    def ours(self, turn):
        """A file of softamp's, read by the package, and written by it again."""
        format_, *options = FORMATS[turn % len(FORMATS)].split()
        rows, columns = int(self.g.integers(1, 6)), 2 * int(self.g.integers(1, 50))
        np.save(self.softamp.place("in.npy"), packages.random_singles(rows * columns, turn, -20, 20).reshape(rows, columns))
        name, file = self.name(), pathlib.Path(self.softamp.place("out.safetensors"))
        blocks = format_[:2] in ("mx", "nv") or "_" in format_
        scales = ["--scales", self.softamp.place("scales.npy")] if blocks else []
        for out, more in ((f"{file}:{name}", []), (self.softamp.place("out.npy"), scales)):
            done = self.run(self.softamp.place("in.npy"), out, "--format", format_, *options, *more)
            if done.returncode != 0:
                return self.fail(f"{format_} to {out!r}: {done.stderr}")
        data = file.read_bytes()
        found = dict(safetensors.deserialize(data))
        codes = np.load(self.softamp.place("out.npy"))
        if found[name]["dtype"] != "F4":  # whose bytes --packed has
            self.equal(f"{format_}: codes", bytes(found[name]["data"]), codes.tobytes())
            self.equal(f"{format_}: shape", list(codes.shape), found[name]["shape"])
        else:
            packed = codes.reshape(-1, 2)
            self.equal(f"{format_}: codes", bytes(found[name]["data"]), (packed[:, 0] | packed[:, 1] << 4).tobytes())
        if blocks:
            kept = np.load(self.softamp.place("scales.npy"))
            self.equal(f"{format_}: scales", bytes(found[name + "_scale"]["data"]), kept.tobytes())
            self.equal(f"{format_}: scales' shape", list(kept.shape), found[name + "_scale"]["shape"])
        header = json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])
        buffers = {key: np.frombuffer(bytes(t["data"]), np.uint8) for key, t in found.items()}
        again = safetensors.serialize({
            key: safetensors.TensorSpec(
                dtype=OF_FILE[t["dtype"]], data_ptr=buffers[key].ctypes.data, data_len=buffers[key].size,
                shape=t["shape"][:-1] + [t["shape"][-1] // 2] if t["dtype"] == "F4" else t["shape"])
            for key, t in found.items()}, metadata=header["__metadata__"])
        self.equal(f"{format_} {name!r}: the file", data, bytes(again))

    def fault(self, what, header, data, known=None):
        """A file that both refuse; known: that softamp alone does."""
        header = header if isinstance(header, bytes) else header.encode()
        file = pathlib.Path(self.softamp.place("bad.safetensors"))
        whole = struct.pack("<Q", len(header)) + header + bytes(data)
        file.write_bytes(whole)
        try:
            safetensors.deserialize(whole)
            accepted = True
        except safetensors.SafetensorError:
            accepted = False
        done = self.run(f"{file}:a", self.softamp.place("out.npy"), "--format", "fp32")
        self.equal(f"{what}: refused", done.returncode, 2)
        if known:
            self.verdict.known[known] = self.verdict.known.get(known, 0) + accepted
        else:
            self.equal(f"{what}: accepted", False, accepted)

    def faults(self):
        def entry(name="a", kind='"F32"', shape="[2]", offsets="[0,8]"):
            return f'"{name}":{{"dtype":{kind},"shape":{shape},"data_offsets":{offsets}}}'

        good = "{" + entry() + "}"
        self.verdict.expect(BLANK, UNKNOWN_KEY, TWICE, NULL)
        for n in range(len(good)):
            self.fault(f"cut after {n} bytes", good[:n], 8)
        for size in (0, 7, 9):
            self.fault(f"{size} bytes of data", good, size)
        for what, text in {
                "type": entry(kind='"F33"'), "type's case": entry(kind='"f32"'), "no type": '"a":{"shape":[2],"data_offsets":[0,8]}',
                "a negative extent": entry(shape="[-2]"), "a fraction": entry(shape="[2.0]"), "a minus": entry(shape="[-0]"),
                "a text for an extent": entry(shape='["2"]'), "a number for a shape": entry(shape="2"),
                "too many elements": entry(shape="[3]"), "overflow": entry(shape="[4294967296,4294967296]"),
                "overflow before 0": entry(shape="[4294967296,4294967296,0]", offsets="[0,0]"),
                "bits beyond 64": entry(shape="[4611686018427387904]"), "an extent beyond 64 bits": entry(shape="[18446744073709551616]"),
                "a gap at the front": entry(offsets="[1,9]"), "backwards": entry(offsets="[8,0]"), "one offset": entry(offsets="[8]"),
                "three offsets": entry(offsets="[0,8,8]"), "half a byte": entry(kind='"F4"', shape="[15]"),
                "metadata of numbers": '"__metadata__":{"k":1},' + entry(), "metadata of lists": '"__metadata__":{"k":[]},' + entry(),
                "metadata's kind": '"__metadata__":"k",' + entry(),
                "a gap": entry(shape="[1]", offsets="[0,4]") + "," + entry("b", shape="[1]", offsets="[5,9]"),
                "overlap": entry(shape="[1]", offsets="[0,4]") + "," + entry("b", shape="[1]", offsets="[2,6]")}.items():
            self.fault(what, "{" + text + "}", 9 if "gap" in what else 8)
        for what, text in {"no UTF-8": b"{\"\xff\":1}", "a lone surrogate": b'{"\\ud800":{}}', "text behind": good.encode() + b"x",
                           "a comma": good[:-1].encode() + b",}", "a list": b"[]", "a byte 0": good.encode() + b"\0"}.items():
            self.fault(what, text, 8)
        self.fault("a blank", " " + good, 8, BLANK)
        self.fault("unknown key", good.replace('"shape"', '"size":0,"shape"'), 8, UNKNOWN_KEY)
        self.fault("twice", "{" + entry() + "," + entry() + "}", 8, TWICE)
        self.fault("null", '{"__metadata__":null,' + entry() + "}", 8, NULL)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("softamp")
    parser.add_argument("--count", type=int, default=60)
    arguments = parser.parse_args()
    verdict = packages.Verdict()
    files = Files(packages.Softamp(arguments.softamp), verdict, 23)
    files.faults()
    for turn in range(arguments.count):
        files.theirs()
        files.ours(turn)
    verdict.end()


if __name__ == "__main__":
    main()
