"""Pages of Markdown: their fenced blocks, the commands in them, and whether what was printed is what a page shows."""

import re


class Block:
    """A fenced block: page, line number, language, lines; shortened: the paragraph above it says so."""

    def __init__(self, page, number, language, lines, shortened):
        self.place, self.language, self.lines, self.shortened = f"{page}:{number}", language, lines, shortened

    def commands(self):
        """[command, shown lines]: each line that begins with `$`, and the lines below it."""
        found = []
        for line in self.lines:
            if line.startswith("$ "):
                found.append([line[2:], []])
            elif found:
                found[-1][1].append(line)
        return found

    def plain_commands(self):
        """Lines, those that end with a backslash joined with the next."""
        return "\n".join(self.lines).replace("\\\n", " ").splitlines()


def blocks_of(page, text):
    lines, found, paragraph = text.splitlines(), [], []
    i = 0
    while i < len(lines):
        fence = re.match(r"```(\w*)$", lines[i])
        if fence:
            end = next((k for k in range(i + 1, len(lines)) if lines[k] == "```"), len(lines))
            found.append(Block(page, i + 2, fence[1], lines[i + 1 : end], "shortened" in " ".join(paragraph)))
            paragraph, i = [], end
        elif lines[i].strip():
            paragraph = (paragraph if lines[i - 1].strip() else []) + [lines[i]]
        i += 1
    return found


def shows(shown, printed, shortened):
    """None where `printed` is what `shown` promises, else what is wrong. Empty lines do not count."""
    printed = [line.rstrip() for line in printed if line.strip()]
    at, gap = 0, shortened
    for line in (line.rstrip() for line in shown if line.strip()):
        if line == "...":
            gap = True
            continue
        if line.endswith(" ..."):
            found = next((k for k in range(at, len(printed)) if printed[k].startswith(line[:-3])), None)
        else:
            found = next((k for k in range(at, len(printed)) if printed[k] == line), None)
        if found is None or (found != at and not gap):
            return line
        at, gap = found + 1, shortened
    return None if gap or at == len(printed) else "nothing more, but it goes on: " + printed[at]


def anchors_of(text):
    """What a link may name after #: the headings, as GitHub writes them."""
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def lines_without_margin(text):
    return [line.strip() for line in text.splitlines()]


def contains(lines, part):
    return any(lines[i : i + len(part)] == part for i in range(len(lines) - len(part) + 1))
