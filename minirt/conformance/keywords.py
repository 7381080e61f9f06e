"""The language of ``-k``: words with ``and``, ``or``, ``not`` and parentheses, as in pytest.

A word is true for a name that contains it, in any case of letters.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    Matcher = Callable[[str], bool]

__all__ = ["parse_keywords"]

_TOKEN = re.compile(r"\s*(?:(?P<paren>[()])|(?P<word>[\w:+\-.\[\]\\/]+)|(?P<bad>\S))")
_OPERATORS = frozenset({"and", "or", "not", "(", ")"})


def parse_keywords(expression: str) -> Matcher:
    """A function that says whether a name fits ``expression``; an empty one fits every name.

    ``not`` binds tighter than ``and``, ``and`` tighter than ``or``. Raises InputError
    that shows where the expression is wrong.
    """
    if not expression.strip():
        return lambda name: True
    parser = _Parser(expression)
    matcher = parser.alternatives()
    if parser.token:
        raise parser.error("expected 'and', 'or' or the end")
    return lambda name: matcher(name.lower())


class _Parser:
    """Recursive descent over one expression; ``token`` is the next one, "" at the end."""

    def __init__(self, expression: str) -> None:
        self.expression = expression
        self.end = 0
        self.advance()

    def advance(self) -> None:
        self.start = self.end
        match = _TOKEN.match(self.expression, self.end)
        self.token = ""
        if match:
            self.token = match[0].strip()
            self.start, self.end = match.end() - len(self.token), match.end()
            if match["bad"]:
                raise self.error("this character is no part of a word")

    def take(self, token: str) -> bool:
        taken = self.token == token
        if taken:
            self.advance()
        return taken

    def alternatives(self) -> Matcher:
        terms = [self.conjunction()]
        while self.take("or"):
            terms.append(self.conjunction())
        return terms[0] if len(terms) == 1 else lambda name: any(term(name) for term in terms)

    def conjunction(self) -> Matcher:
        terms = [self.factor()]
        while self.take("and"):
            terms.append(self.factor())
        return terms[0] if len(terms) == 1 else lambda name: all(term(name) for term in terms)

    def factor(self) -> Matcher:
        negated = False
        while self.take("not"):
            negated = not negated
        inner = self.group() if self.take("(") else self.word()
        return (lambda name: not inner(name)) if negated else inner

    def group(self) -> Matcher:
        inner = self.alternatives()
        if not self.take(")"):
            raise self.error("expected ')'")
        return inner

    def word(self) -> Matcher:
        word = self.token.lower()
        if not word or self.token in _OPERATORS:
            raise self.error("expected a word, 'not' or '('")
        self.advance()
        return lambda name: word in name

    def error(self, problem: str) -> InputError:
        found = f", found {self.token!r}" if self.token else ", found the end"
        return InputError(f"-k {self.expression!r}, column {self.start + 1}: {problem}{found}")
