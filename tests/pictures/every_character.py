#!/usr/bin/env python3
"""Sends every character through every kind of plot and page, and reads them back.

    python3 every_character.py WRITTEN_TEXTS PROGRAM      a sixteenth of the texts, by SOFTAMP_SLICE; without it all

WRITTEN_TEXTS is the program of written_texts.cpp. Each printable character of ASCII stands before each digit and before
letters, among them those that continue what gnuplot, XML or HTML might take for markup. Control characters, bytes that
are no UTF-8, and characters that XML has not are seen as "\\x1b". SVG is read by xml.etree, pages by html.parser.
PROGRAM draws and describes a training of a network file that is named so.

Exit codes: 0, 1 something is wrong, 77 no gnuplot here.
"""

import html.parser
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

SVG = "{http://www.w3.org/2000/svg}"
PARTS = 16
BEHIND = ["0", "1", "7", "8", "a", "amp;", "#65;", "x41", "U+20AC", "{x}", " ", ""]


def texts():
    """Bytes: each character in a context that might change it, some characters to a text."""
    some = [bytes([code]) for code in range(256)]
    some += [chr(code).encode("utf-8", "surrogatepass")
             for code in (0x80, 0x9B, 0x9F, 0xA0, 0xE9, 0x20AC, 0x2028, 0xD7FF, 0xD800, 0xE000, 0xFFFD, 0xFFFE, 0xFFFF,
                          0x1F600, 0x10FFFF)]
    some += [b"\xc0\x80", b"\xe0\x80\x80", b"\xf0\x80\x80\x80", b"\xf4\x90\x80\x80", b"\\", b"\\\\", b"&#", b"<!--", b"]]>"]
    pieces = [b"x" + character + behind.encode() for character in some for behind in BEHIND]
    for first in range(0, len(pieces), 40):
        yield b"".join(pieces[first:first + 40])
    yield from (b"x$1", b'a onload=1 javascript: @import href="http', b'id="gnuplot_plot_1" url(#a)', b"a" + "é".encode() * 700,
                "€".encode() * 400, "a😀".encode() * 300, b"^" * 1500, b'softamp axes "top": 3', b"  two  blanks ", b"2^-13 of (a)^k")


def is_character(code):
    return code >= 0x20 and not 0x7F <= code < 0xA0 and not 0xD800 <= code < 0xE000 and code not in (0xFFFE, 0xFFFF)


def printable(text, kept):
    """As files::printable says; `kept`: control characters that stay."""
    seen, at = "", 0
    while at < len(text):
        for size in (1, 2, 3, 4):
            try:
                character = text[at:at + size].decode("utf-8")
            except UnicodeDecodeError:
                continue
            if len(character) == 1 and (is_character(ord(character)) or character in kept):
                seen += character
                at += size
                break
        else:
            seen += {10: "\\n", 9: "\\t", 13: "\\r"}.get(text[at], f"\\x{text[at]:02x}")
            at += 1
    return seen


def in_plot(text):
    return printable(text.replace(b"\n", b" ").replace(b"\r", b" ").replace(b"\t", b" "), "")


def drawn(text):
    """With powers raised: what is raised has no '^' before it."""
    return re.sub(r"(?<=[A-Za-z0-9)])\^(-?(?:[0-9]+|[A-Za-z]))(?![A-Za-z0-9])", r"\1", text)


class Faults(list):
    def expect(self, found, wanted, what):
        if found != wanted:
            self.append(f"{what}: {found!r}, expected {wanted!r}")


def texts_of(root):
    return ["".join(text.itertext()) for text in root.iter(SVG + "text")]


def check_texts(seen, wanted, least, name, faults):
    """A long text has no place in the legend, and so `least` counts it without."""
    others = [text for text in seen if text != wanted and not re.fullmatch(r"[ 0-9.-]*", text)]
    faults.expect(others, [], f"{name}: texts other than {wanted!r}")
    if (count := seen.count(wanted)) < least:
        faults.append(f"{name}: {count} texts are {wanted!r}, expected {least}")


def check_svg(file, text, count, faults):
    try:
        root = xml.etree.ElementTree.fromstring(file.read_bytes())
    except xml.etree.ElementTree.ParseError as error:
        faults.append(f"{file.name}: {error}: {text[:80]!r}")
        return
    seen, wanted = texts_of(root), drawn(in_plot(text))
    check_texts(seen, wanted, count, file.name, faults)
    titles = {group.get("id"): group.find(SVG + "title").text for group in root.iter(SVG + "g")
              if (group.get("id") or "").startswith("gnuplot_plot_")}
    for curve in (1, 2):
        faults.expect(titles.get(f"gnuplot_plot_{curve}"), in_plot(text), f"{file.name}: title of curve {curve}")
    json.loads(root.find(SVG + "metadata").text)


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.texts, self.labels = [], {}, []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        if tag in ("meta", "br"):
            return
        self.open.append(tag)
        self.texts.setdefault(tag, []).append("")
        self.labels += [value for name, value in attrs if name == "aria-label"]

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            raise ValueError(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data):
        for tag in set(self.open):
            self.texts[tag][-1] += data


def check_page(file, text, faults):
    wanted, picture = printable(text, "\n"), drawn(in_plot(text))
    try:
        page = Page(file.read_bytes().decode())
    except (ValueError, UnicodeDecodeError) as error:
        faults.append(f"{file.name}: {error}: {text[:80]!r}")
        return
    faults.expect(page.open, [], f"{file.name}: open elements")
    for tag, count in {"h2": 1, "p": 2, "pre": 1, "summary": 1, "caption": 1, "th": 3, "td": 1, "figcaption": 1}.items():
        faults.expect(page.texts.get(tag), [wanted] * count, f"{file.name}: <{tag}>")
    faults.expect(page.labels, [wanted] * 2, f"{file.name}: labels")
    check_texts(page.texts.get("text", []), picture, 4, file.name, faults)
    titles = page.texts.get("title", [])
    faults.expect(titles[:2], [wanted] * 2, f"{file.name}: titles")
    faults.expect(titles[2:], [in_plot(text)] * 2, f"{file.name}: titles of curves")


def check_library(writer, folder, faults):
    slice = os.environ.get("SOFTAMP_SLICE")
    every = list(texts())
    if slice:
        part = int(slice) % PARTS
        every = every[part::PARTS]
        print(f"SOFTAMP_SLICE={slice}: part {part} of {PARTS} of the texts")
    lines = "".join(text.hex() + "\n" for text in every)
    done = subprocess.run([writer, str(folder)], input=lines, capture_output=True, text=True, check=False)
    faults.expect((done.returncode, done.stderr), (0, ""), "written_texts")
    for number, text in enumerate(every):
        for kind, count in {"plain": 4, "panel": 5, "strips": 5}.items():
            check_svg(folder / f"{number}-{kind}.svg", text, count, faults)
        png = (folder / f"{number}-plain.png").read_bytes()
        faults.expect((png[:8], png[-8:-4]), (b"\x89PNG\r\n\x1a\n", b"IEND"), f"{number}-plain.png")
        check_page(folder / f"{number}.html", text, faults)
    return len(every)


NETWORK = {"softamp_network": 1, "input": {"kind": "image", "shape": [28, 28, 1]}, "output": {"kind": "classes", "count": 10},
           "layers": [{"type": "flatten"}, {"type": "dense", "units": 10}]}


def check_program(program, folder, faults):
    """Names of files: every character below U+00A0 but 0 and '/', in three names, before a digit."""
    codes = [code for code in range(1, 0xA0) if code != ord("/")]
    for some in ([c for c in codes if 0x20 <= c < 0x7F], [c for c in codes if c < 0x20], [c for c in codes if c >= 0x7F]):
        name = "".join(chr(code) + "1" for code in some).encode() + b".json"
        (folder / name.decode()).write_text(json.dumps(NETWORK), encoding="utf-8")
        sets = [word for setting in ("generated=true", "train_images=16", "test_images=8", "batch_size=8", "epochs=1")
                for word in ("--set", setting)]
        path = b"./" + name
        done = subprocess.run([program, "train", "--set", b"network=" + path, *sets, "--plot", "a.svg"], cwd=folder,
                              capture_output=True, check=False)
        faults.expect(done.returncode, 0, f"train {name!r}: {done.stderr[-300:]!r}")
        faults.expect(re.findall(rb"[\x00-\x08\x0b-\x1f\x7f]", done.stdout + done.stderr), [], f"train {name!r} prints")
        if done.returncode == 0:
            root = xml.etree.ElementTree.fromstring((folder / "a.svg").read_bytes())
            title = drawn(in_plot(path + b" in float32"))
            faults.expect(title in texts_of(root), True, f"the title {title!r} in {texts_of(root)}")
        done = subprocess.run([program, "study", "--set", b"network=" + path, *sets, "--grid", "precision=float16,float32", "--seeds",
                               "1", "--report", "a.html", "--plot", "b.svg"], cwd=folder, capture_output=True, check=False)
        faults.expect(done.returncode, 0, f"study {name!r}: {done.stderr[-300:]!r}")
        faults.expect(re.findall(rb"[\x00-\x08\x0b-\x1f\x7f]", done.stdout + done.stderr), [], f"study {name!r} prints")
        if done.returncode == 0:
            page = Page((folder / "a.html").read_bytes().decode())
            faults.expect(page.open, [], "open elements of a study's page")
            faults.expect(printable(path, "\n") in "".join(page.texts["td"]), True, f"the network {name!r} in the page")
            xml.etree.ElementTree.fromstring((folder / "b.svg").read_bytes())


def main():
    if not shutil.which("gnuplot"):
        print("skipped: no gnuplot here")
        return 77
    faults = Faults()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        count = check_library(pathlib.Path(sys.argv[1]).resolve(), folder, faults)
        check_program(pathlib.Path(sys.argv[2]).resolve(), folder, faults)
    for fault in faults[:20]:
        print(fault)
    print(f"{count} texts, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
