"""The tokens of a C++ source: what a planted bug or a mutant changes, whatever the text's lines and blanks are."""

import re
from typing import NamedTuple

OPENING = {"(": ")", "[": "]", "{": "}"}
CLOSING = {close: open_ for open_, close in OPENING.items()}
PATTERN = re.compile(
    r"""(?P<blank>\s+|//[^\n]*|/\*.*?\*/|\\\n)
      | (?P<directive>(?<![^\n])[ \t]*\#(?:[^\n\\]|\\.|\\\n)*)
      | (?P<text>(?:u8|[uUL])?R"(?P<mark>[^()\s\\]*)\(.*?\)(?P=mark)"|(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*"|(?:u8|[uUL])?'(?:[^'\\\n]|\\.)+')
      | (?P<number>\.?\d(?:[eEpP][+-]|'\w|[\w.])*)
      | (?P<word>[A-Za-z_]\w*)
      | (?P<sign><=>|<<=|>>=|\.\.\.|->\*|::|->|\+\+|--|<<|>=|<=|==|!=|&&|\|\||[-+*/%&|^]=|\#\#|.)""",
    re.VERBOSE | re.DOTALL)


class Token(NamedTuple):
    kind: str  # text, number, word or sign
    text: str
    start: int  # in the source
    end: int


def tokens_of(source):
    """All tokens but blanks, comments and the preprocessor's lines. `>>` is two signs, as it may close two lists of a template."""
    return [Token(match.lastgroup if match.lastgroup != "mark" else "text", match.group(), *match.span())
            for match in PATTERN.finditer(source) if match.lastgroup not in ("blank", "directive")]


def partners_of(tokens):
    """For each bracket the index of the one that it belongs to; for one that has none, and for all else, None."""
    partners, open_ = [None] * len(tokens), []
    for index, token in enumerate(tokens):
        if token.kind != "sign":
            continue
        if token.text in OPENING:
            open_.append(index)
        elif token.text in CLOSING and open_ and tokens[open_[-1]].text == CLOSING[token.text]:
            partners[index] = open_.pop()
            partners[partners[index]] = index
    return partners


def meaning_of(source):
    """What a compiler reads of a source but for the files that it includes: no comments, no blanks."""
    return "\n".join(" ".join(match.group().split()) for match in PATTERN.finditer(source)
                     if match.lastgroup != "blank" and not re.match(r"\s*#\s*(include|pragma once)", match.group()))
