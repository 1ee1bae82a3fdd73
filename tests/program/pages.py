#!/usr/bin/env python3
"""Reads the pages that `softamp study --report` and `softamp reproduce --out` write.

    python3 pages.py PROGRAM              by Python's html.parser; runs the commands that a report gives
    python3 pages.py PROGRAM --browser    in headless Chromium, as wide as a phone and a desk, and on paper

Exit codes: 0, 1 something is wrong, 77 no Chromium here.
"""

import csv
import html.parser
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

VOID = {"meta", "br"}
TINY = ("--set generated=true --set train_images=64 --set test_images=32 --set batch_size=8 --set epochs=1 "
        "--grid precision=float16,float32 --case stochastic_rounding=off --case stochastic_rounding=on,learning_rate=0.02 "
        "--seeds 2 --quiet --out").split()


class Page(html.parser.HTMLParser):
    """What a page holds, and what is wrong with it."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.faults, self.ids, self.wanted = [], [], [], []
        self.elements, self.copied, self.text = [], [], ""
        self.feed(text)
        self.close()
        self.faults += [f"<{tag}> is not closed" for tag in self.open]
        self.faults += [f"id {name} twice" for name in {n for n in self.ids if self.ids.count(n) > 1}]
        self.faults += [f"no #{name}" for name in self.wanted if name not in self.ids]

    def handle_starttag(self, tag, attrs):
        self.look(tag, attrs)
        if tag == "pre":
            self.copied.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.look(tag, attrs)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data
        if "pre" in self.open:
            self.copied[-1] += data

    def look(self, tag, attrs):
        values = dict(attrs)
        self.elements.append((tag, values))
        if "id" in values:
            self.ids.append(values["id"])
        if tag in ("script", "link", "img", "iframe") or "src" in values:
            self.faults.append(f"<{tag}>")
        for name in ("href", "xlink:href"):
            if name in values and not values[name].startswith("#"):
                self.faults.append(f"refers to {values[name]}")
            elif name in values:
                self.wanted.append(values[name][1:])
        for name in ("aria-labelledby",):
            self.wanted += values.get(name, "").split()

    def count(self, tag):
        return sum(name == tag for name, _ in self.elements)


class Checks:
    def __init__(self, program):
        self.program, self.faults = str(pathlib.Path(program).resolve()), []

    def expect(self, truth, what):
        if not truth:
            self.faults.append(what)

    def softamp(self, *arguments, folder, code=0):
        done = subprocess.run([self.program, *arguments], cwd=folder, capture_output=True, text=True, check=False)
        self.expect(done.returncode == code, f"{arguments}: code {done.returncode}: {done.stderr}")
        return done.stdout

    def shell(self, command, folder):
        line = command.replace("softamp ", f"'{self.program}' ", 1)
        done = subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True, check=False)
        self.expect(done.returncode == 0, f"{command}: {done.stderr}")
        return done.stdout

    def well_formed(self, file):
        text = file.read_text(encoding="utf-8")
        page = Page(text)
        self.faults += [f"{file.name}: {fault}" for fault in page.faults]
        self.expect("http" not in text, f"{file.name}: http")
        self.expect(page.count("h1") == 1 and page.count("title") >= 1, f"{file.name}: one <h1>")
        self.expect(page.count("table") == page.count("caption") > 0, f"{file.name}: captions of tables")
        heads = [values for tag, values in page.elements if tag == "th"]
        self.expect(heads and all("scope" in values for values in heads), f"{file.name}: scopes of heads")
        pictures = [values for tag, values in page.elements if tag == "svg"]
        self.expect(all(values.get("role") == "img" and values.get("aria-labelledby") for values in pictures),
                    f"{file.name}: pictures without a name")
        return page, text, pictures

    def study(self, folder):
        out = "it's <runs> & \xe9\udcff"  # a letter, and a byte that is no UTF-8
        self.softamp("study", *TINY, out, "--report", "a.html", "--runs-csv", "runs.csv", folder=folder)
        page, text, pictures = self.well_formed(folder / "a.html")
        self.expect(len(pictures) == (1 if shutil.which("gnuplot") else 0), f"{len(pictures)} pictures")
        with open(folder / "runs.csv", encoding="utf-8", newline="") as file:
            runs = list(csv.DictReader(file))
        self.expect(len(runs) == 8, "eight runs")
        for run in runs:
            loss = f"{float(run['final_loss']):.6f}"
            keys = list(run)[:list(run).index("seed")]
            row = "".join(f"<td>{run[key]}</td>" for key in keys)
            row += "".join(f'<td class="n">{value}</td>' for value in (run["seed"], loss,
                                                                       f"{run['correct']} of {run['images']}"))
            self.expect(row in text, f"the page has not {row}")
        # The same runs give the same bytes, and the commands do what was done.
        self.softamp("study", *TINY, out, "--collect", "--report", "b.html", folder=folder)
        self.expect((folder / "b.html").read_bytes() == (folder / "a.html").read_bytes(), "another page of the same runs")
        table = self.softamp("study", *TINY, out, "--collect", "--csv", "/dev/stdout", folder=folder)
        again, listing, collecting, every, each = page.copied
        self.expect(table == self.shell(again.strip() + " --quiet --csv /dev/stdout", folder), "the study again")
        self.expect("8 done, 0 claimed, 0 missing" in self.shell(listing, folder), "the study listed")
        self.shell(collecting.strip() + " --quiet", folder)
        self.expect((folder / "page.html").read_bytes() == (folder / "a.html").read_bytes(), "the page again")
        self.expect(table == self.shell(every.strip() + " --quiet --csv /dev/stdout", folder), "with every setting")
        commands = each.strip().split("\n\n")
        self.expect(len(commands) == 8, f"{len(commands)} commands")
        for command, run in list(zip(commands, runs))[::3]:
            found = json.loads(self.shell(command.strip() + " --quiet --json", folder) or "{}")
            self.expect(found.get("last_loss") == float(run["final_loss"]), f"{command}: {found.get('last_loss')}")
        self.odd_study(folder)
        self.histograms(folder)

    def histograms(self, folder):
        """Counted exponents are in the page; a study that was kept without them is done again, one with them is not."""
        again = (*TINY, "counted", "--report", "h.html")
        self.softamp("study", *again, folder=folder)
        self.expect("Exponents" not in (folder / "h.html").read_text(encoding="utf-8"), "exponents without being asked")
        listed = self.softamp("study", *TINY, "counted", "--histograms", "--list", folder=folder)
        self.expect("0 done, 0 claimed, 8 missing" in listed, f"to be counted: {listed}")
        found = json.loads(self.softamp("study", *again, "--histograms", "--json", folder=folder))
        page, text, pictures = self.well_formed(folder / "h.html")
        drawn = 1 + len(found["rows"]) if shutil.which("gnuplot") else 0
        self.expect(len(pictures) == drawn, f"{len(pictures)} pictures with histograms, not {drawn}")
        self.expect("--histograms" in page.copied[0], "the command asks for histograms")
        steps = 8  # of each run of TINY; 64 images by 8
        for row in found["rows"]:
            exponents, precision = row["exponents"], row["settings"]["precision"]
            self.expect(exponents["steps"] == 2 * steps, f"{exponents['steps']} steps")
            kinds = {layer["kind"] for layer in exponents["layers"]}
            self.expect(kinds == {"weights", "activations", "gradients"}, f"kinds {kinds}")
            weights = [layer for layer in exponents["layers"] if layer["kind"] == "weights"]
            self.expect(all(layer["dtype"] == precision for layer in weights), f"weights of {precision}")
            for layer in exponents["layers"]:
                counts = layer["counts"]
                sum_of = sum(counts["exponents"].values()) + counts["zeros"] + counts["infinities"] + counts["nans"]
                self.expect(counts["elements"] == sum_of > 0, f"{layer['layer']}: {counts['elements']} elements")
                least = min(map(int, counts["exponents"]), default=None)
                cells = (layer["layer"], layer["kind"], layer["dtype"])
                line = "".join(f"<td>{cell}</td>" for cell in cells) + f'<td class="n">{counts["elements"]}</td>'
                self.expect(line in text, f"the page has not {line}")
                self.expect(least is None or f'<td class="n">{least}</td>' in text, f"least exponent {least}")
        # A run by itself counts the same.
        one = found["rows"][0]["exponents"]
        alone = [{}, {}]
        for seed in range(2):
            settings = f"generated=true train_images=64 test_images=32 batch_size=8 epochs=1 precision=float16 seed={seed}"
            sets = [word for setting in settings.split() for word in ("--set", setting)]
            self.softamp("train", *sets, "--quiet", "--histograms", f"{seed}.json", folder=folder)
            for step in json.loads((folder / f"{seed}.json").read_text(encoding="utf-8"))["steps"]:
                for tensor in step["tensors"]:
                    name = (tensor["layer"], tensor["kind"], tensor["dtype"])
                    alone[seed][name] = alone[seed].get(name, 0) + tensor["counts"]["exponents"].get("-5", 0)
        for layer in one["layers"]:
            name = (layer["layer"], layer["kind"], layer["dtype"])
            counted = layer["counts"]["exponents"].get("-5", 0)
            self.expect(counted == sum(run[name] for run in alone), f"{name}: {counted}, alone {alone[0][name]} and more")
        # As many pages of these runs as one likes are the same.
        self.softamp("study", *TINY, "counted", "--histograms", "--collect", "--report", "i.html", folder=folder)
        self.expect((folder / "h.html").read_bytes() == (folder / "i.html").read_bytes(), "another page with exponents")

    def odd_study(self, folder):
        """What options cannot say is given as JSON; a part of the runs is a page, too."""
        study = {"settings": {"generated": True, "train_images": 32, "test_images": 16, "batch_size": 8, "epochs": 1},
                 "grid": {"behaviour": ["off", "inv,oflo"]}, "seeds": 1}
        (folder / "s.json").write_text(json.dumps(study), encoding="utf-8")
        self.softamp("study", "s.json", "--quiet", "--out", "odd", "--report", "c.html", folder=folder)
        page, _, _ = self.well_formed(folder / "c.html")
        self.expect("softamp study /dev/stdin" in page.copied[0], "as JSON")
        self.shell(page.copied[1], folder)
        self.shell(page.copied[2], folder)
        self.expect((folder / "page.html").read_bytes() == (folder / "c.html").read_bytes(), "the page of JSON again")
        self.softamp("study", "s.json", "--quiet", "--seeds", "2", "--out", "odd", "--collect", "--report", "d.html",
                     folder=folder, code=1)
        page, _, _ = self.well_formed(folder / "d.html")
        self.expect("2 of 4 runs" in page.text and "no run" in page.text, "a part of the runs")

    def reproduce(self, folder):
        self.softamp("reproduce", "tutorial-lines", "--brief", "--quiet", "--out", "page", folder=folder)
        page, _, pictures = self.well_formed(folder / "page" / "tutorial-lines.html")
        drawn = len(list((folder / "page").glob("*.svg")))
        self.expect(len(pictures) == drawn, f"{len(pictures)} pictures of {drawn}")
        self.expect("agree" in page.text, "checks")


def browser():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    return None


MEASURE = """<!DOCTYPE html><meta charset="utf-8"><body><iframe src="a.html" width="%d" height="900"></iframe><script>
onload = () => { const d = document.querySelector("iframe").contentDocument, e = d.documentElement;
  const clipped = [...d.querySelectorAll("h1, h2, p, summary, figcaption")].filter(x => x.scrollWidth > x.clientWidth + 1);
  document.body.textContent = "MEASURED " + JSON.stringify({overflow: e.scrollWidth - e.clientWidth, clipped: clipped.length,
    heights: [...d.querySelectorAll("svg")].map(x => Math.round(x.getBoundingClientRect().height)),
    font: parseFloat(getComputedStyle(d.body).fontSize)}); };
</script>"""


def in_browser(checks, chromium, folder):
    checks.softamp("study", *TINY, "runs", "--histograms", "--report", "a.html", folder=folder)
    options = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files",
               f"--user-data-dir={folder}/profile", "--virtual-time-budget=5000"]
    for width in (360, 1200):
        (folder / "measure.html").write_text(MEASURE % width, encoding="utf-8")
        done = subprocess.run([*options, "--dump-dom", (folder / "measure.html").as_uri()], capture_output=True, text=True,
                              timeout=120, check=False)
        found = re.search(r"MEASURED (\{.*?\})", done.stdout)
        checks.expect(found, f"{width}: not measured: {done.stdout[-300:]} {done.stderr[-300:]}")
        if not found:
            continue
        seen = json.loads(found[1].replace("&quot;", '"'))
        checks.expect(seen["overflow"] <= 0, f"{width}: {seen['overflow']} pixels too wide")
        checks.expect(seen["clipped"] == 0, f"{width}: {seen['clipped']} texts are cut off")
        checks.expect(seen["font"] >= 16, f"{width}: letters of {seen['font']}")
        checks.expect(all(height > 200 for height in seen["heights"]), f"{width}: pictures of {seen['heights']}")
    page = folder / "a.pdf"
    subprocess.run([*options, "--no-pdf-header-footer", f"--print-to-pdf={page}", (folder / "a.html").as_uri()],
                   capture_output=True, timeout=120, check=False)
    checks.expect(page.exists() and page.read_bytes().startswith(b"%PDF"), "not printed")


def main():
    checks = Checks(sys.argv[1])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if "--browser" in sys.argv:
            chromium = browser()
            if not chromium:
                print("skipped: no Chromium here")
                return 77
            in_browser(checks, chromium, folder)
        else:
            checks.study(folder)
            checks.reproduce(folder)
    for fault in checks.faults:
        print(fault)
    return 1 if checks.faults else 0


if __name__ == "__main__":
    sys.exit(main())
