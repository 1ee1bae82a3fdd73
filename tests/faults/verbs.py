"""The verbs that write, and the files that each begins with: what the faults are tried on."""

import dataclasses
import pathlib
import re
import struct

ROOT = pathlib.Path(__file__).resolve().parents[2]
GRAPHS = ROOT / "examples/graphs"
OLD = b"what was there before\n"


@dataclasses.dataclass(frozen=True)
class Verb:
    name: str
    arguments: tuple                 # of softamp, relative to the folder in which it runs
    files: dict = dataclasses.field(default_factory=dict)   # name -> bytes: what lies in the folder before
    before: tuple = ()               # arguments of a run that makes more of it
    forget: str = ""                 # then files with names like this are removed again
    streams: tuple = ()              # outputs written line by line: a failed run leaves the first part of the right one
    pages: tuple = ()                # made of what there is: after a failure whole, but perhaps of fewer results
    state: str = ""                  # a checkpoint: a failed run may leave any from which the run goes on
    goes_on: tuple = ()              # arguments that are added to go on from it
    stdin: bytes = b""
    child: str = ""                  # the faults are in this program, which softamp starts
    keeps: bool = False              # the same command goes on from what it has kept
    long: bool = False               # takes seconds
    for_kills: bool = False          # of many calls that are alike: --kills alone tries it


def npy(values):
    """An array of float32 as numpy.save writes it."""
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % len(values)
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(
        "<%df" % len(values), *values)


def graph(*names):
    return {name: (GRAPHS / name).read_bytes() for name in names}


def set_all(**settings):
    return tuple(part for key, value in settings.items() for part in ("--set", f"{key}={value}"))


TINY = set_all(generated="true", train_images=24, test_images=8, batch_size=8, epochs=1) + ("--quiet",)
HALF = set_all(precision="float16", stochastic_rounding="on", threads=1)
TRAIN = ("train",) + TINY + HALF + ("--log", "run.jsonl", "--checkpoint", "run.npz")
STEPS = ("train",) + set_all(
    generated="true", train_images=192, test_images=16, batch_size=8, epochs=2, shuffle="true", optimizer="adam",
    precision="mixed", loss_scale="dynamic", evaluate_every=1, threads=1) + ("--quiet",)
STUDY = ("study",) + TINY + ("--seeds", "1", "--json")
GRID = ("--grid", "precision=float16,float32")
SCRIPT = b"behaviour nanoo\nseed 0xdeadbeef\nmul 60000 60000\nadd 1 0.001\nprint\n" * 40
CASES = b"".join(b"%04X %04X\n" % (i, 0x3C00 + i) for i in range(2000))
X = npy([i / 7 for i in range(3000)])

VERBS = [
    Verb("round", ("round", "in.npy", "out.npy", "--format", "fp16"), {"in.npy": X, "out.npy": OLD}),
    Verb("round-words", ("round", "in.npy", "out.npy", "--format", "e4m3", "--rounding", "stochastic", "--values",
                         "--json"), {"in.npy": X}),
    Verb("round-tensors", ("round", "in.npy", "out.safetensors:w", "--format", "nvfp4"),
         {"in.npy": X, "out.safetensors": OLD}),
    Verb("round-tensor", ("round", "in.safetensors:w", "out.npy", "--format", "mxfp4", "--dequantize"),
         {"in.npy": X, "out.npy": OLD}, before=("round", "in.npy", "in.safetensors:w", "--format", "mxfp4")),
    Verb("run", ("run", "dense.json", "--feed", "x=x.npy", "--out", "results", "--trace", "run.jsonl"),
         {**graph("dense.json", "x.npy"), "run.jsonl": OLD, "results/dense_hidden.npy": OLD}),
    Verb("run-new", ("run", "dense.json", "--feed", "x=x.npy", "--out", "a/b", "--status", "--statistics"),
         graph("dense.json", "x.npy")),
    Verb("run-printed", ("run", "dense.json", "--feed", "x=x.npy", "--trace", "run.jsonl", "--steps", "20"),
         graph("dense.json", "x.npy")),
    Verb("rewrite", ("rewrite", "two_dense_layers.json", "--tensorflow", "--output-report", "report.csv", "--report",
                     "csv", "-o", "half.json"),
         {**graph("two_dense_layers.json"), "report.csv": OLD, "half.json": OLD}),
    Verb("rewrite-pb", ("rewrite", "two_dense_layers.pbtxt", "--recipe", "full", "-o", "half.pb", "--report", "table"),
         graph("two_dense_layers.pbtxt")),
    Verb("train", TRAIN + ("--checkpoint-every", "2"), {"run.jsonl": OLD}, streams=("run.jsonl",), state="run.npz",
         goes_on=("--resume", "run.npz")),
    Verb("train-resume", TRAIN + ("--resume", "run.npz"), before=TRAIN + ("--set", "steps=2"),
         streams=("run.jsonl",), state="run.npz"),
    Verb("train-threads", ("train",) + TINY + ("--checkpoint", "run.npz", "--threads", "3"), {"run.npz": OLD}, state="run.npz"),
    Verb("train-plot", ("train",) + TINY + ("--threads", "1", "--plot", "loss.svg"), {"loss.svg": OLD}),
    Verb("sum-plot", ("sum", "--value", "0.0001", "--count", "1000", "--plot", "sum.svg"), {"sum.svg": OLD}),
    Verb("sum-csv", ("sum", "--values", "x.npy", "--rounding", "stochastic", "--bits", "1:4", "--csv", "sum.csv"),
         {"x.npy": X, "sum.csv": OLD}),
    Verb("sum-png", ("sum", "--value", "0.0001", "--count", "500", "--json", "--plot", "sum.png"), {"sum.png": OLD}),
    Verb("sum-gnuplot", ("sum", "--value", "0.0001", "--count", "500", "--plot", "sum.svg"), {"sum.svg": OLD},
         child="gnuplot"),
    Verb("study", STUDY + GRID + ("--jobs", "1", "--out", "kept", "--csv", "table.csv"), {"table.csv": OLD},
         keeps=True),
    Verb("study-goes-on", STUDY + GRID + ("--jobs", "1", "--out", "kept"),
         before=STUDY + ("--grid", "precision=float16", "--jobs", "1", "--out", "kept"), keeps=True),
    Verb("study-plot", STUDY + GRID + ("--jobs", "1", "--plot", "study.svg", "--csv", "table.csv"),
         {"study.svg": OLD, "table.csv": OLD}),
    Verb("study-report", STUDY + GRID + ("--jobs", "1", "--report", "page.html"), {"page.html": OLD}),
    Verb("study-report-new", STUDY + GRID + ("--jobs", "1", "--out", "kept", "--histograms", "--report", "page.html"),
         keeps=True),
    Verb("study-report-collected", STUDY + GRID + ("--out", "kept", "--collect", "--report", "page.html"),
         {"page.html": OLD}, before=STUDY + GRID + ("--jobs", "1", "--out", "kept")),
    Verb("study-report-gnuplot", STUDY + GRID + ("--jobs", "1", "--report", "page.html"), {"page.html": OLD},
         child="gnuplot"),
    Verb("study-jobs", STUDY + GRID + ("--jobs", "2", "--csv", "table.csv"), {"table.csv": OLD}),
    Verb("reproduce", ("reproduce", "tutorial-lines", "--brief", "--out", "page", "--json"),
         {"page/tutorial-lines-lines.csv": OLD}),
    Verb("reproduce-all", ("reproduce", "all", "--brief", "--quiet", "--out", "page", "--markdown", "page.md"),
         {"page.md": OLD}, before=("reproduce", "all", "--brief", "--quiet", "--out", "page"),
         forget=r"page/(tutorial-lines.*|index\.html)", pages=("page/index.html", "page.md"), long=True, keeps=True),
    Verb("train-steps", STEPS + ("--checkpoint-every", "3", "--log", "run.jsonl", "--checkpoint", "run.npz"),
         streams=("run.jsonl",), state="run.npz", goes_on=("--resume", "run.npz"), for_kills=True),
    Verb("study-grid", STUDY + GRID + ("--grid", "learning_rate=0.01,0.02,0.03", "--jobs", "2", "--out", "kept"),
         keeps=True, for_kills=True),
    Verb("reproduce-new", ("reproduce", "all", "--brief", "--quiet", "--out", "page"), keeps=True, long=True,
         for_kills=True),
    Verb("compute", ("compute", "f16_add"), stdin=CASES),
    Verb("registers", ("registers", "script"), {"script": SCRIPT}),
    Verb("inspect", ("inspect", "0.1", "--format", "bf16")),
    Verb("compare", ("compare", "a.npy", "b.npy"), {"a.npy": X, "b.npy": X}),
    Verb("operations", ("operations", "--markdown")),
    Verb("man", ("man",)),
]

# What may differ between two good runs: times.
TIMES = [
    (re.compile(rb'"(seconds|images_per_second|estimate)":\s*[0-9.e+-]+'), rb'"\1":0'),
    (re.compile(rb'"checksum":\s*"[0-9a-f]+"'), b'"checksum":""'),  # of those, too
    (re.compile(rb"[ \t]*\b[0-9.]+ (s|min|ms)\b"), rb" 0 s"),
    (re.compile(rb"  kept from before"), b""),
]


def without_times(name, data):
    if name.endswith((".npz", ".npy", ".png", ".svg")):
        return data
    for pattern, other in TIMES:
        data = pattern.sub(other, data)
    lines = data.split(b"\n")
    if name.endswith(".csv") and b"images_per_second" in lines[0]:
        column = lines[0].split(b",").index(b"images_per_second")
        rows = [line.split(b",") for line in lines if line]
        data = b"\n".join(b",".join(row[:column] + row[column + 1:]) for row in rows)
    return data
