#!/usr/bin/env python3
"""bench_options.py PROGRAM...: benchmarks end well with the options of Google Benchmark, whatever its version knows of them: no
crash, no table of nothing, no NaN, standard output that is JSON where JSON was asked for. Exit code 0: all did; 1: a line each."""
import json
import pathlib
import subprocess
import sys
import tempfile

# A benchmark of each program that takes about a second at most, and the arguments before it; the others are not run.
QUICK = {
    "bulk": ([], "^16Ki/1 thread/round nearest/"),
    "convolution": (["1", "1"], "^convolution/float partials/forward/64->64 at 8x8/"),
    "executor": ([], "^1,000 element-wise operations/nearest/"),
    "formats": ([], "^fp16/nearest-even/from fp32/"),
    "product": (["64", "1", "1"], "^product/float partials, fp16/64/1 thread/"),
    "rank_sums": ([], "^rank sums/float16/8 ranks/1 thread/"),
    "scalar": ([], "^scalar/add ieee nearest/"),
    "sums": ([], "^sums/fp16 stochastic 13/1 thread/"),
}
NOTHING = "--benchmark_filter=nothing_matches"
failures = []


def run(program, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=120)
    shown = f"{pathlib.Path(program).name} {' '.join(arguments)}"

    def expect(holds, what):
        if not holds:
            failures.append(f"{shown}: {what}\n{(done.stdout + done.stderr)[-600:]}")

    expect(done.returncode >= 0, f"ended by signal {-done.returncode}")
    expect("nan" not in (done.stdout + done.stderr).lower().split(), "a NaN")
    return done, expect


def check_idle(program):
    """Where nothing is to be measured, nothing is, and there is no table."""
    for option in ("--benchmark_list_tests", NOTHING):
        for more in ([], ["--benchmark_min_time=0.01"], ["--benchmark_repetitions=2"]):
            done, expect = run(program, option, *more)
            expect(done.returncode == 0, f"exit code {done.returncode}")
            expect("|" not in done.stdout + done.stderr, "a table of nothing")
            expect((done.stdout != "") == (option != NOTHING), "standard output")
    for option in ("--benchmark_min_time=0.01s", "--benchmark_dry_run"):  # unknown to some versions
        done, expect = run(program, option, NOTHING)
        expect(done.returncode in (0, 2), f"exit code {done.returncode}")
        expect("|" not in done.stdout, "a table of nothing")
    for wrong in ("--no_such_option", "nonsense", "--benchmark_no_such_option"):
        done, expect = run(program, wrong)
        expect(done.returncode == 2, f"exit code {done.returncode}")
        expect(wrong in done.stderr, "does not name the argument")


def check_quick(program, arguments, name):
    filter_option = f"--benchmark_filter={name}"
    done, expect = run(program, *arguments, filter_option, "--benchmark_min_time=0.01", "--benchmark_repetitions=2")
    expect(done.returncode == 0, f"exit code {done.returncode}")
    table = [line for line in done.stdout.splitlines() if line.startswith("| ")]
    expect(len(table) == len(set(table)), "a row twice")
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "out.json"
        done, expect = run(program, *arguments, filter_option, "--benchmark_format=json", f"--benchmark_out={file}",
                           "--benchmark_out_format=json")
        expect(done.returncode == 0, f"exit code {done.returncode}")
        for text in (done.stdout, file.read_text() if file.exists() else ""):
            try:
                times = [b["real_time"] for b in json.loads(text)["benchmarks"]]
                expect(times and min(times) > 0, f"times {times}")
            except ValueError as error:
                expect(False, f"no JSON: {error}")


for path in sys.argv[1:]:
    check_idle(path)
    quick = QUICK.get(pathlib.Path(path).name.removeprefix("bench_"))
    if quick:
        check_quick(path, *quick)
print("\n".join(failures) or f"bench_options: {len(sys.argv) - 1} programs end well")
sys.exit(1 if failures or len(sys.argv) == 1 else 0)
