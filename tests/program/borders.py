#!/usr/bin/env python3
"""What files may not do to a run: expand without a limit, write to a terminal, be changed, or be waited for.

    python3 borders.py PROGRAM

Exit codes: 0, 1 something is wrong.
"""

import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile

TINY = [word for setting in ("generated=true", "train_images=32", "test_images=8", "batch_size=8", "epochs=1")
        for word in ("--set", setting)]


class Checks:
    def __init__(self, program, folder):
        self.program, self.folder, self.faults = str(pathlib.Path(program).resolve()), folder, []

    def run(self, *arguments, code, says=""):
        done = subprocess.run([self.program, *arguments], cwd=self.folder, capture_output=True, timeout=120, check=False)
        said = (done.stdout + done.stderr).decode()
        if done.returncode != code or says not in said:
            self.faults.append(f"{arguments}: code {done.returncode}, expected {code} and {says!r}: {said[-600:]}")
        if any(ord(c) < 0x20 and c not in "\n\t" or 0x7F <= ord(c) < 0xA0 for c in said):
            self.faults.append(f"{arguments}: prints a control character: {said[-600:]!r}")
        return said

    def expansions(self):
        packed = gzip.compress(b"a" * (1 << 28), mtime=0)
        (self.folder / "t.txt.gz").write_bytes(packed)
        self.run("train", "--set", "network=gpt_tiny", "--data", "t.txt.gz", "--steps", "1", code=2,
                 says=f"t.txt.gz: unpacks to more than the {64 * len(packed)} bytes")
        with open(self.folder / "large.txt", "wb") as file:
            file.truncate((1 << 30) + 1)
        self.run("train", "--set", "network=gpt_tiny", "--data", "large.txt", "--steps", "1", code=2,
                 says="has 1073741825 bytes; expected at most 1073741824")
        network = {"softamp_network": 1, "input": {"kind": "image", "shape": [28, 28, 1]},
                   "output": {"kind": "classes", "count": 10},
                   "layers": [{"type": "flatten"}, {"type": "repeat", "times": 3000, "layers": [
                       {"type": "dense", "units": 10, "name": "n" * 1000000}]}]}
        (self.folder / "net.json").write_text(json.dumps(network), encoding="utf-8")
        self.run("train", *TINY, "--network", "net.json", code=2, says="expected at most 256 bytes, not 1000000")
        study = {"settings": {"generated": True, "data": "d" * 1000000}, "grid": {"precision": ["float16"]}, "seeds": 100000}
        (self.folder / "s.json").write_text(json.dumps(study), encoding="utf-8")
        self.run("study", "s.json", "--list", "--out", "none", code=2, says="has 1000000 bytes; expected at most 4096")

    def kept_runs(self):
        again = ("study", *TINY, "--grid", "precision=float16", "--seeds", "1", "--out", "kept")
        self.run(*again, code=0)
        kept = next((self.folder / "kept").glob("*.json"))
        whole = kept.read_bytes()
        kept.write_bytes(whole.replace(b'"skipped":0', b'"skipped":1'))
        self.run(*again, code=2, says="its checksum is ")
        kept.write_bytes(whole.replace(b'"stopped":""', b'"stopped":"\\u001b[2J"'))
        self.run(*again, code=2, says="its checksum is ")
        kept.unlink()
        os.mkfifo(kept)
        for more in ((), ("--list",), ("--collect",)):
            self.run(*again, *more, code=2, says="is a pipe; expected a regular file, the result of a run")
        kept.unlink()
        kept.write_bytes(whole.replace(b'"softamp_study_run":3', b'"softamp_study_run":2'))
        self.run(*again, "--list", code=0, says="0 done")

    def pipes_and_devices(self):
        """What is read from a regular file alone, and what has no end."""
        graph = {"softamp_graph": 1, "nodes": [{"name": "x", "op": "Placeholder", "attributes": {"dtype": "float32", "shape": [2]}}]}
        (self.folder / "graph.json").write_text(json.dumps(graph), encoding="utf-8")
        os.mkfifo(self.folder / "pipe.json")
        self.run("rewrite", "graph.json", "--recipe-fp8", "pipe.json", code=2, says="is a pipe; expected a regular file")
        for arguments in (("run", "/dev/zero"), ("train", "/dev/urandom"), ("registers", "/dev/zero")):
            self.run(*arguments, code=2, says="is a device")

    def partial_files(self):
        where = "has its file while that is written; expected another file"
        self.run("train", *TINY, "--log", ".c.npz.part", "--checkpoint", "c.npz", code=2, says=where)
        self.run("train", *TINY, "--checkpoint", ".l.jsonl.lock", "--log", "l.jsonl", code=2, says=where)

    def names(self):
        """Of files, and in files: a recipe, a graph's nodes, a network."""
        odd = "odd\x1b]0;x\x07\x9b2J"
        recipe = {"allow": ["MatMul"], "strict_conditional": [], "conditional": []}
        (self.folder / (odd + ".json")).write_text(json.dumps(recipe), encoding="utf-8")
        graph = {"nodes": [{"name": odd, "op": "Placeholder", "dtype": "float32", "shape": [2]}]}
        (self.folder / "g.json").write_text(json.dumps(graph), encoding="utf-8")
        for arguments in (("rewrite", "g.json", "--recipe", odd + ".json", "-o", "o.json"), ("run", "g.json"),
                          ("run", odd), ("train", odd), ("study", odd), ("compare", odd, odd), ("round", odd, "x"),
                          ("registers", odd), ("train", *TINY, "--set", "network=" + odd), ("train", *TINY, "--set", odd)):
            done = subprocess.run([self.program, *arguments], cwd=self.folder, capture_output=True, timeout=120, check=False)
            said = (done.stdout + done.stderr).decode()
            if not said or any(ord(c) < 0x20 and c != "\n" or 0x7F <= ord(c) < 0xA0 for c in said):
                self.faults.append(f"{arguments}: prints {said[-300:]!r}")


def main():
    with tempfile.TemporaryDirectory() as name:
        checks = Checks(sys.argv[1], pathlib.Path(name))
        checks.expansions()
        checks.kept_runs()
        checks.pipes_and_devices()
        checks.partial_files()
        checks.names()
    for fault in checks.faults:
        print(fault)
    return 1 if checks.faults else 0


if __name__ == "__main__":
    sys.exit(main())
