#!/usr/bin/env python3
"""Plants mistakes in README.md and the pages, one at a time, and requires that readme.py finds each.

    python3 tests/house/readme_faults.py SOURCE_DIR PROGRAM

Exit codes: 0, 1 a mistake was not found, 2 usage.
"""

import pathlib
import shutil
import sys
import tempfile

from readme import Reader

# The check, the file, what to replace in it and by what, and what the fault must say.
PLANTED = [
    ("check_readme", "README.md", "# softamp\n", "# softamp\n" + "\n" * 150, "lines; expected at most 150"),
    ("check_readme", "README.md", "# softamp\n", "# softamp\n@TIME@\n", "@TIME@ waits for its figure"),
    ("check_readme", "README.md", "| `softamp selftest`", "| `softamp self`", "verb selftest is missing"),
    ("check_readme", "README.md", "bash tests/run.sh ", "bash tests/runs.sh ", "is not among its commands"),
    ("check_readme", ".ci/run", "bash tests/run.sh", "ctest", "does not run README's second command"),
    ("check_links", "README.md", "(docs/sum.png)", "(docs/sums.png)", "link to docs/sums.png"),
    ("check_links", "docs/LIBRARY.md", "(BUILDING.md)", "(BUILDINGS.md)", "link to BUILDINGS.md"),
    ("check_links", "docs/REPRODUCED.md", "](#decay)", "](#decays)", "no such heading"),
    ("check_snippets", "README.md", "0x3C01, ipu, 1234);", "0x3C01, ipu, 123);", "this C++ is not"),
    ("check_snippets", "README.md", "find_package(softamp 0.1 ", "find_package(softamp 9.1 ",
     "find_package(softamp 9.1"),
    ("check_snippets", "README.md", "softamp::softamp)", "softamp::all)", "softamp::all is not in"),
    ("check_glossary", "docs/GLOSSARY.md", "`tests/planted`", "`tests/plants`", "there is no tests/plants"),
    ("check_options_of_cmake", "docs/BUILDING.md", "| `SOFTAMP_FUZZ`", "| `SOFTAMP_FUZZY`", "no option SOFTAMP_FUZZY"),
    ("check_options_of_cmake", "docs/BUILDING.md", "| `SOFTAMP_FUZZ`", "| `SOFTAMP_FUZZY`", "SOFTAMP_FUZZ of CMake"),
    ("check_unrun", "README.md", "bash examples/quickstart.sh", "bash examples/quick.sh", "no file examples/quick.sh"),
    ("check_unrun", "README.md", "softamp study --grid", "softamp study --grids", "study has no option --grids"),
    ("check_unrun", "README.md", "`softamp compute f16", "`softamp computes f16", "no verb computes"),
    ("check_unrun", "README.md", "bash tests/run.sh ", "sh tests/run.sh ", "is no command that this test knows"),
    ("check_unrun", "docs/BUILDING.md", "ctest --preset release", "ctest --preset releases", "preset releases"),
    ("check_unrun", "docs/BUILDING.md", "--install build-release", "--install build-all",
     "no preset builds in build-all"),
    ("check_unrun", "docs/RESULTS.md", "--grid precision=float32,mixed", "--net a", "study has no option --net"),
    ("check_quickstart", "README.md", "--replicas 20 --plot", "--replicas 21 --plot",
     "does not run `build/softamp sum"),
    ("check_quickstart", "README.md", "swamping_study.json --plot", "study.json --plot",
     "does not run `build/softamp study"),
    ("check_builds", "docs/WORKFLOWS.md", "bash tests/build.sh all", "bash tests/build.sh program",
     "build/examples/example_17_compile_fit: no command before it"),
    ("check_builds", "docs/TUTORIAL.md", "bash tests/build.sh all", "This", "tutorial/stochastic_rounding: no command"),
    ("check_builds", "docs/USAGE.md", "bash tests/build.sh program", "This", "build/softamp: no command before it"),
    ("check_builds", "docs/CLUSTERS.md", "-DSOFTAMP_BUILD_BENCH=ON", "", "bench_rank_sums: no command before it"),
    ("check_builds", "docs/WORKFLOWS.md", "example_17_compile_fit", "example_17_fit", "there is no examples/17_fit.cpp"),
    ("run", "README.md", "0.25 (0x3400), reached at addition 2181", "0.25 (0x3400), reached at addition 2182", "2182"),
    ("run", "README.md", "exact sum    1.0001659", "mean         1.0001659", "does not print what is shown"),
    ("run", "README.md", "mean         0.9952880859375\nsd ", "sd ", None),
    ("run", "README.md", "sd           0.01671476242464741\n", "sd           0.01\n", "sd           0.01;"),
    ("run", "README.md", "--plot build/quickstart/sum.svg", "--trace build/no.svg", "ends with code 2; expected 0"),
    ("run", "README.md", "  tile 0, worker 0\n", "", "nothing more, but it goes on:   tile 0, worker 0"),
    ("run", "README.md", "--behaviour nanoo,inv", "--behaviour nanoo", "ends with code 0; expected 3"),
    ("run", "README.md", "study examples/training/swamping_study", "studies examples/training/x", "ends with code 2"),
]


def faults_with(source, program, folder, check, file, find, replace):
    """The faults that the check finds in `folder`, a copy of `source`, with `find` replaced in one file."""
    path = folder / file
    text = path.read_text(encoding="utf-8")
    if find not in text:
        return [f"{file} has no text '{find}': the table of {pathlib.Path(__file__).name} is out of date"]
    path.write_text(text.replace(find, replace), encoding="utf-8")
    reader = Reader(folder, program)
    if check == "run":
        reader.run_commands(["README.md"], False)
    else:
        getattr(reader, check)()
    path.write_text(text, encoding="utf-8")
    return reader.faults


def main(arguments):
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    source, program = pathlib.Path(arguments[0]).resolve(), arguments[1]
    missed = 0
    with tempfile.TemporaryDirectory(prefix="softamp planted ") as name:
        folder = pathlib.Path(name)
        for entry in source.iterdir():
            if entry.name in ("docs", "bench", ".ci", "examples"):
                shutil.copytree(entry, folder / entry.name)
            elif entry.is_file():
                shutil.copy(entry, folder)
            elif not entry.name.startswith((".git", "build")):
                (folder / entry.name).symlink_to(entry)
        for check, file, find, replace, says in PLANTED:
            faults = faults_with(source, program, folder, check, file, find, replace)
            found = any(says in fault for fault in faults) if says else not faults
            if not found:
                missed += 1
                print(f"{check}: '{find}' -> '{replace}' in {file}: expected {says or 'no fault'}; found: {faults}")
    print(f"readme_faults: {len(PLANTED)} mistakes planted, {missed} not found")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
