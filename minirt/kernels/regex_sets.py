"""Sets of code points, as regular expressions in RE2's syntax name them.

A set is a tuple of growing bounds: what is in it begins at the first, ends before the second,
begins again at the third, and so on. So a code point is in the set if an odd number of
bounds is not above it.
"""

from __future__ import annotations

import sys
import unicodedata
from bisect import bisect_right
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Set = tuple[int, ...]

__all__ = [
    "ANY",
    "ASCII_CLASSES",
    "PERL_CLASSES",
    "category",
    "contains",
    "folded",
    "inverted",
    "single",
    "union",
]

_END = sys.maxunicode + 1
ANY: Set = (0, _END)

#: Letters with case end before this.
_CASED_END = 0x1F000
#: Its capital is that of i, but only Turkish takes them for one letter.
_DOTLESS = "\u0131"

#: Unicode has this category too, of what is not assigned; RE2 does not.
_UNASSIGNED = "Cn"


def single(code: int) -> Set:
    """The set of one code point."""
    return code, code + 1


def contains(members: Set, code: int) -> bool:
    """Whether a code point is in a set."""
    return bisect_right(members, code) % 2 == 1


def inverted(members: Set) -> Set:
    """All other code points."""
    start = members[1:] if members[:1] == (0,) else (0, *members)
    return start[:-1] if start[-1:] == (_END,) else (*start, _END)


def union(sets: Iterable[Set]) -> Set:
    """What is in any of the sets."""
    pairs = sorted(pair for bounds in sets for pair in zip(bounds[::2], bounds[1::2], strict=True))
    merged: list[int] = []
    for start, end in pairs:
        if merged and start <= merged[-1]:
            merged[-1] = max(merged[-1], end)
        else:
            merged += (start, end)
    return tuple(merged)


def folded(members: Set) -> Set:
    """The set with all other cases of the letters that are in it."""
    pairs = [code for code in _other_cases() if contains(members, code)]
    return union([members, *(single(c) for code in pairs for c in _other_cases()[code])])


@cache
def _other_cases() -> Mapping[int, tuple[int, ...]]:
    """The letters that are one with a letter, by Unicode's simple case folding."""
    groups: dict[str, set[str]] = {}
    for code in range(_CASED_END):
        letter = chr(code)
        forms = (letter.lower(), letter.upper(), letter.casefold())
        if forms == (letter,) * 3 or letter == _DOTLESS:
            continue
        found = {letter, *(form for form in forms if len(form) == 1)}
        for member in tuple(found):
            found |= groups.get(member, set())
        for member in found:
            groups[member] = found
    return {
        ord(letter): tuple(ord(other) for other in group if other != letter)
        for letter, group in groups.items()
        if len(group) > 1
    }


@cache
def category(name: str) -> Set | None:
    """The code points of a general category of Unicode (``"Lu"``, ``"L"``, ``"Any"``), or None."""
    if name == "Any":
        return ANY
    sets = [members for key, members in _categories().items() if key.startswith(name)]
    return union(sets) if sets and name else None


@cache
def _categories() -> Mapping[str, Set]:
    bounds: dict[str, list[int]] = {}
    last = ""
    for code in range(_END):
        name = unicodedata.category(chr(code))
        if name != last:
            bounds.setdefault(last, []).append(code)
            bounds.setdefault(name, []).append(code)
            last = name
    bounds[last].append(_END)
    return {name: tuple(b) for name, b in bounds.items() if name not in ("", _UNASSIGNED)}


def _of(text: str) -> Set:
    """The set of single characters and of ranges ``"a-z"``, between blanks."""
    return union((ord(part[0]), ord(part[-1]) + 1) for part in text.split(" "))


_BLANK = union([single(9), single(32)])
_SPACE = union([(9, 14), single(32)])
_WORD = _of("0-9 A-Z _ a-z")

#: ``\\d``, ``\\s`` and ``\\w``: of ASCII alone, and no vertical tab.
PERL_CLASSES: Mapping[str, Set] = {
    "d": _of("0-9"),
    "s": union([(9, 11), (12, 14), single(32)]),
    "w": _WORD,
}

#: ``[:alpha:]`` and the others.
ASCII_CLASSES: Mapping[str, Set] = {
    "alnum": _of("0-9 A-Z a-z"),
    "alpha": _of("A-Z a-z"),
    "ascii": (0, 128),
    "blank": _BLANK,
    "cntrl": union([(0, 32), single(127)]),
    "digit": _of("0-9"),
    "graph": _of("!-~"),
    "lower": _of("a-z"),
    "print": (32, 127),
    "punct": _of("!-/ :-@ [-` {-~"),
    "space": _SPACE,
    "upper": _of("A-Z"),
    "word": _WORD,
    "xdigit": _of("0-9 A-F a-f"),
}
