"""What a C++ source defines, with its names: where a planted bug or a mutant is."""

from typing import NamedTuple

from tokens import partners_of, tokens_of

# What stands before a bracket and is no function's name.
NO_NAMES = {"if", "for", "while", "switch", "catch", "return", "sizeof", "alignof", "decltype", "noexcept", "requires", "alignas",
            "static_assert", "constexpr", "__attribute__", "asm", "throw", "new", "delete", "co_return", "explicit", "else", "do"}
# What may stand between a function's parameters and its body.
BEFORE_BODY = {"const", "noexcept", "override", "final", "mutable", "volatile", "&", "&&", "try"}
# What follows the braces of an initializer, or those of a class.
CONTINUES = {";", ",", ")", "(", ".", "[", "{", "?", "|"}
SCOPES = {"namespace", "class", "struct", "union", "extern"}


class Function(NamedTuple):
    name: str  # with its classes, without namespaces: Semantics::ipu
    head: int  # index of the first token of its name
    open: int  # of the { of its body
    close: int  # of its }


class Definition(NamedTuple):
    """A function, a class, or what else has a name outside of functions: a variable, a table, an enumeration."""

    name: str
    first: int  # index of its first token, such as `template`
    last: int  # of its last


class Source:
    """A text with its tokens, the partners of its brackets, its functions, and all definitions: those, classes and variables."""

    def __init__(self, text):
        self.text = text
        self.tokens = tokens_of(text)
        self.partners = partners_of(self.tokens)
        self.functions, self.definitions = [], []
        self._find(0, len(self.tokens), ())

    def _find(self, first, end, classes):
        """Adds what is defined by these tokens, which stand in no function."""
        start = first  # of the declaration
        index = first
        while index < end:
            text = self.tokens[index].text
            if text == ";":
                self._add(classes, self._declared(start, index), start, index)
                start = index + 1
            elif text == ":" and self.tokens[index - 1].text in ("public", "private", "protected"):
                start = index + 1
            elif text in "([" and self.partners[index]:
                index = self.partners[index]
            elif text == "{" and self.partners[index]:
                close = self.partners[index]
                scope = self._scope(start, index)
                named = None if scope is not None else self._named(start, index)
                if scope is not None:
                    self._add(classes, "".join(scope), start, close)
                    self._find(index + 1, close, (*classes, *scope))
                elif named:
                    name, head = named
                    self.functions.append(Function("::".join((*classes, name)), head, index, close))
                    self._add(classes, name, start, close)
                index = close
                following = self.tokens[close + 1].text if close + 1 < end else ""
                if scope is None and named or scope == () or following not in CONTINUES:
                    start = close + 1
            index += 1

    def _add(self, classes, name, first, last):
        if name:
            self.definitions.append(Definition("::".join((*classes, name)), first, last))

    def _declared(self, start, end):
        """The name that a declaration without a body gives: of a variable, an enumeration, a function; None if there is none."""
        tokens, index = self.tokens, start
        if index < end and tokens[index].text == "template":
            index = self._after_angles(index + 1)
        if index < end and tokens[index].text == "enum":
            names = (token.text for token in tokens[index + 1 : end] if token.kind == "word")
            return next((name for name in names if name not in SCOPES), None)
        if index < end and tokens[index].text in SCOPES:
            return None
        while index <= end:
            text, before = tokens[index].text, tokens[index - 1]
            if text == "(" and index > start and (named := self._name_before(start, index)):
                return named[0]
            if text in ("=", "[", "{", ",", ":", ";") and index > start and before.kind == "word":
                return before.text
            if text in ("(", "[", "{") and self.partners[index]:
                index = self.partners[index]
            if text == "<" and before.text != "operator":
                index = self._after_angles(index) - 1
            index += 1
        return None

    def _scope(self, start, brace):
        """The names that a namespace (none), a class or the like adds to those of its functions; None if this is none."""
        words = [token.text for token in self.tokens[start:brace]]
        if words and words[0] == "template":
            words = words[self._after_angles(start + 1) - start :]
        while words and words[0] in ("inline", "static", "typedef", "constexpr", "const"):
            words = words[1:]
        if not words or words[0] not in SCOPES:
            return None
        if words[0] in ("namespace", "extern"):
            return ()
        names = []
        for word in words[1:]:
            if word in (":", "final", "<"):
                break
            names.append(word)
        # Attributes stand before the name.
        names = [word for word in names if word.isidentifier() or word == "::"]
        return (names[-1],) if names else ()

    def _after_angles(self, index):
        """The index behind the list in <> that starts at `index`."""
        depth = 0
        while index < len(self.tokens):
            text = self.tokens[index].text
            if text == "<":
                depth += 1
            elif text in (">", ">>"):
                depth -= len(text)
                if depth <= 0:
                    return index + 1
            elif text in "([{" and self.partners[index]:
                index = self.partners[index]
            index += 1
        return index

    def _named(self, start, brace):
        """The name of the function whose body opens at `brace`, and the index of its first token; None if this is no body."""
        tokens, index = self.tokens, start
        if index < brace and tokens[index].text == "template":
            index = self._after_angles(index + 1)
        while index < brace:
            text = tokens[index].text
            if text == "=" and tokens[index - 1].text != "operator":
                return None
            if text == "(" and self.partners[index] and index > start:
                name = self._name_before(start, index)
                if name:
                    return name
                index = self.partners[index]
            elif text == "[" and self.partners[index]:
                index = self.partners[index]
            index += 1
        return None

    def _name_before(self, start, bracket):
        """The (qualified) name that ends before a bracket: `Semantics::ipu`, `operator+`, `~Pool`."""
        tokens, index = self.tokens, bracket - 1
        if tokens[index].text == ">":  # of a specialisation
            opening = next((k for k in range(index, start, -1) if tokens[k].text == "<" and self._after_angles(k) == bracket), None)
            index = opening - 1 if opening else index
        last = tokens[index]
        parts, back = [], index
        while back >= start and back > index - 4 and tokens[back].text != "operator":
            back -= 1
        if back >= start and tokens[back].text == "operator":
            parts = ["operator" + ("".join(token.text for token in tokens[back + 1 : bracket]) or "()")]
            index = back
        elif last.kind == "word" and last.text not in NO_NAMES and not last.text.startswith("__"):
            parts = [last.text]
            if index > start and tokens[index - 1].text == "~":
                parts, index = ["~" + last.text], index - 1
        else:
            return None
        while index - 2 >= start and tokens[index - 1].text == "::" and tokens[index - 2].kind == "word":
            parts.insert(0, tokens[index - 2].text)
            index -= 2
        return "::".join(parts), index
