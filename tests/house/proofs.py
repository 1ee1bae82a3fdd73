#!/usr/bin/env python3
"""Compares docs/PROOF.md with the code: `proofs.py ROOT | --digests ROOT | --self-test`.

For each proof (tests/exhaustive/) the page says when it last ran in full, and the digest of the text that it proved: of what a
compiler reads of the headers that it includes, and of the kernels behind them; comments and blanks do not count. Where that text
is another one today, the row must say so; a change of the arithmetic so names the proofs that it makes old. --digests prints
today's.
"""

import hashlib
import pathlib
import re
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve()
sys.path[:0] = [str(HERE.parents[1] / "code"), str(HERE.parents[1] / "planted")]
from texts import INCLUDE  # noqa: E402
from tokens import meaning_of  # noqa: E402

PAGE, PROOFS = "docs/PROOF.md", "tests/exhaustive"
# The kernels that are behind a header.
BEHIND = {"include/softamp/tensor/bulk.h": ("emu/bulk",), "include/softamp/tensor/block_bulk.h": ("emu/bulk", "emu/blocks"),
          "emu/functions/functions.h": ("emu/functions",)}
CURRENT, OLDER = "today's text", "an older text"
ROW = re.compile(r"^\| `proof_(\w+)` \| `([0-9a-f]{16})` \| ([^|]*) \| (" + CURRENT + "|" + OLDER + r")\b", re.MULTILINE)


def text_behind(root, proof):
    """The files of the project that a proof is made of, and what each means."""
    found, waiting = {}, [f"{PROOFS}/{proof}.cpp"]
    while waiting:
        name = waiting.pop()
        if name in found or not (root / name).is_file():
            continue
        text = (root / name).read_text()
        found[name] = meaning_of(text)
        for quote, path in INCLUDE.findall(text):
            waiting += [str(pathlib.Path(name).parent / path)] if quote == '"' else []
            waiting += [f"include/{path}", path]
        for folder in BEHIND.get(name, ()):
            waiting += [str(path.relative_to(root)) for path in (root / folder).glob("*") if path.suffix in (".h", ".cpp")]
    return found


def digest_of(root, proof):
    files = text_behind(root, proof)
    return hashlib.sha256("\n".join(f"{name}\n{files[name]}" for name in sorted(files)).encode()).hexdigest()[:16]


def faults(root):
    proofs = sorted(path.stem for path in (root / PROOFS).glob("*.cpp"))
    rows = {name: (digest, state) for name, digest, _, state in ROW.findall((root / PAGE).read_text())}
    for name in sorted(set(rows) - set(proofs)):
        yield f"{PAGE}: there is no {PROOFS}/{name}.cpp for its row proof_{name}; expected one of {', '.join(proofs)}"
    for name in proofs:
        if name not in rows:
            yield f"{PAGE}: it has no row of proof_{name}: expected its last full run, with a digest (proofs.py --digests)"
            continue
        digest, state = rows[name]
        today = digest_of(root, name)
        if digest != today and state == CURRENT:
            yield (f"{PAGE}: proof_{name} ran with the text {digest}, today's is {today}: run it again (build/tests/proof_{name} --full) "
                   f"and write its digest and date there, or '{OLDER}'")
        if digest == today and state == OLDER:
            yield f"{PAGE}: proof_{name} ran with today's text {digest}, and its row says '{OLDER}'"


def self_test():
    """A change of what is computed makes a row old, one of a comment does not; each fault is named."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        header, kernel = root / "include/softamp/tensor/bulk.h", root / "emu/bulk/a.cpp"
        for file, text in ((root / PROOFS / "one.cpp", '#include "softamp/tensor/bulk.h"\nint main() {}\n'), (header, "int f(int);  // one\n"),
                           (kernel, "int f(int x) { return x; }\n"), (root / PAGE, "")):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)

        def said(row):
            (root / PAGE).write_text(row)
            return "\n".join(faults(root))

        row = f"| `proof_one` | `{digest_of(root, 'one')}` | 2026-01-01 | {CURRENT} |\n"
        checks = ["no row of proof_one" in said(""), said(row) == "", f"says '{OLDER}'" in said(row.replace(CURRENT, OLDER)),
                  "no tests/exhaustive/two.cpp" in said(row + row.replace("one", "two"))]
        header.write_text("/* two */ int  f( int );\n")
        checks.append(said(row) == "")
        kernel.write_text("int f(int x) { return x + 1; }\n")
        checks += ["run it again" in said(row), said(row.replace(CURRENT, OLDER)) == ""]
    return [f"proofs: check {number} of its own fails" for number, held in enumerate(checks) if not held]


def main(arguments):
    if arguments == ["--self-test"]:
        found = self_test()
    elif len(arguments) == 2 and arguments[0] == "--digests":
        root = pathlib.Path(arguments[1])
        for path in sorted((root / PROOFS).glob("*.cpp")):
            print(f"proof_{path.stem} {digest_of(root, path.stem)}")
        return 0
    elif len(arguments) == 1:
        found = list(faults(pathlib.Path(arguments[0])))
    else:
        print(__doc__, file=sys.stderr)
        return 2
    print("\n".join([*found, f"proofs: {len(found)} faults"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
