"""What the judges share: a Python that has their packages, softamp run on arrays, and differences counted by name."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77


def find(*modules, where="True", brings=None):
    """Goes on in the first Python that has these, and where an expression is true: that of SOFTAMP_PYTHON, this one, that of PATH,
    Debian's. brings: the command that brings them [=tests/venv.sh]."""
    if os.environ.pop("SOFTAMP_PYTHON_FOUND", None):  # this one, by whatever name it was started
        return
    tried = []
    for python in (os.environ.get("SOFTAMP_PYTHON"), sys.executable, shutil.which("python3"), "/usr/bin/python3"):
        if not python or python in tried or not os.path.exists(python):
            continue
        tried.append(python)
        if subprocess.run([python, "-c", f"import {', '.join(modules)}; assert {where}"], capture_output=True).returncode == 0:
            if python != sys.executable:
                os.environ["SOFTAMP_PYTHON_FOUND"] = "1"
                os.execv(python, [python, "-B", *sys.argv])
            return
    brings = brings or "bash tests/venv.sh" + (" torch" if "torch" in modules else "")
    print(f"skipped: no {', '.join(modules)} in {', '.join(tried)}; `{brings}` brings them; SOFTAMP_PYTHON: a Python that has them")
    sys.exit(SKIPPED)


class Softamp:
    """`softamp round` on arrays of NumPy."""

    def __init__(self, program):
        self.program = program
        self.folder = tempfile.TemporaryDirectory()

    def place(self, name):
        return str(pathlib.Path(self.folder.name) / name)

    def round(self, array, options, words=None, scales=None, results=("out",)):
        """The files that a run leaves: out.npy and, of blocks, scales.npy."""
        import numpy as np
        np.save(self.place("in.npy"), array)
        command = [self.program, "round", self.place("in.npy"), self.place("out.npy"), *options]
        if words is not None:
            np.save(self.place("words.npy"), words)
            command += ["--random-bits", self.place("words.npy")]
        if scales is not None:
            np.save(self.place("scales.npy"), scales)
        if scales is not None or "scales" in results:
            command += ["--scales", self.place("scales.npy")]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
        self.output = done.stdout
        found = [np.load(self.place(f"{name}.npy")) for name in results]
        return found if len(found) > 1 else found[0]


class Slice:
    """One of several parts of a judge's cases, by the environment's SOFTAMP_SLICE; without it all."""

    def __init__(self, parts):
        number = os.environ.get("SOFTAMP_SLICE")
        self.parts, self.part, self.turn = (parts, int(number) % parts, -1) if number else (1, 0, -1)
        if self.parts > 1:
            print(f"SOFTAMP_SLICE={number}: part {self.part} of {parts} of the cases")

    def takes(self):
        """Whether the next case is in it."""
        self.turn += 1
        return self.turn % self.parts == self.part


class Verdict:
    """Counts what was compared. A difference that is known has a name; one that has none fails the test, and so does a
    known one that was to be seen and was not."""

    def __init__(self):
        self.compared, self.known, self.expected, self.failed = 0, {}, set(), 0

    def expect(self, *names):
        self.expected.update(names)

    def compare(self, what, inputs, ours, theirs, known=()):
        """known: (name, mask of the elements where the judge differs, what we give there)."""
        import numpy as np
        theirs = theirs.copy()
        for name, mask, value in known:
            differ = mask & (theirs != value)
            if differ.any():
                self.known[name] = self.known.get(name, 0) + int(differ.sum())
            theirs = np.where(mask, value, theirs).astype(theirs.dtype)
        self.compared += ours.size
        wrong = np.flatnonzero(ours.reshape(-1) != theirs.reshape(-1))
        if wrong.size:
            self.failed += 1
            for i in wrong[:5]:
                print(f"{what}: element {i}, {inputs.reshape(-1)[i]!r}: softamp {ours.reshape(-1)[i]!r}, "
                      f"the judge {theirs.reshape(-1)[i]!r}")
            print(f"{what}: {wrong.size} of {ours.size} differ")

    def end(self):
        print(f"{self.compared} results compared")
        for name, count in sorted(self.known.items()):
            print(f"known difference, {count} times: {name}")
        for name in sorted(self.expected - set(self.known)):
            print(f"known difference, but not seen: {name}")
            self.failed += 1
        sys.exit(1 if self.failed else 0)


def bits(values):
    """The codes of floats, all NaNs as one."""
    import numpy as np
    values = np.asarray(values, dtype=np.float32)
    return np.where(np.isnan(values), np.uint32(0x7FC00000), values.view(np.uint32))


def all_halves():
    """Every float16, as float32."""
    import numpy as np
    with np.errstate(all="ignore"):
        return np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)


def random_singles(count, seed, low, high):
    """A quarter any float32; the others magnitudes from 2^low to 2^high, half of these with few bits, for ties."""
    import numpy as np
    g = np.random.default_rng(seed)
    quarter = count // 4
    any_code = g.integers(0, 1 << 32, quarter, dtype=np.uint64).astype(np.uint32).view(np.float32)
    rest = count - quarter
    sign = np.where(g.random(rest) < 0.5, -1.0, 1.0)
    near = sign * 2.0 ** g.integers(low, high, rest) * (1 + g.random(rest))
    with np.errstate(over="ignore"):
        near = near.astype(np.float32).view(np.uint32)
    chosen = np.where(g.random(rest) < 0.5, near, near & np.uint32(0xFFF80000))
    return np.concatenate([any_code, chosen.view(np.float32)])
