"""Regular expressions in RE2's syntax, parsed to programs.

https://github.com/google/re2/wiki/Syntax

A program is a tuple of instructions, which run one after the other: :class:`Take` a code
point of a set, :class:`Look` at the place without taking anything, :class:`Jump` by one or
several distances at once. As distances are relative, parts of programs are put together, and
repeated, as they are. Where the program ends, the text so far matches.

Which of several ways leads to a match does not matter here, so groups are not captured, and
repetitions are neither greedy nor lazy.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from ..errors import SchemaError, UnsupportedError
from .regex_sets import (
    ANY,
    ASCII_CLASSES,
    PERL_CLASSES,
    category,
    folded,
    inverted,
    single,
    union,
)

if TYPE_CHECKING:
    from typing import NoReturn

    from .regex_sets import Set

__all__ = ["Jump", "Look", "Program", "Take", "parse"]

#: RE2's bounds of ``{n,m}``, of repetitions within each other, and of groups.
_MOST_REPEATS = 1000
_MOST_GROUPS = 1000
#: Instructions of a program; RE2 has a similar bound.
_LONGEST = 200_000

_NO_NEWLINE = inverted(single(ord("\n")))
#: What ``^`` and ``$`` mean where lines do not count.
_EDGES = {"^": "\\A", "$": "\\z"}
_ESCAPES = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}

_COUNTS = re.compile(r"\{(0|[1-9][0-9]*)(?:(,)(0|[1-9][0-9]*)?)?\}")
_NAMED = re.compile(r"\?P?<(\w+)>")
_FLAGS = re.compile(r"\?([imsU]*)(-[imsU]+)?([:)])")
_HEX = re.compile(r"\{([0-9A-Fa-f]+)\}|([0-9A-Fa-f]{2})")
_OCTAL = re.compile(r"[0-7]{1,3}")
_PROPERTY = re.compile(r"\{(\^?)([^}]*)\}|()(.)", re.DOTALL)
_POSIX = re.compile(r"\[:(\^?)(.*?):\]", re.DOTALL)


class Take(NamedTuple):
    """Go on if the next code point is in the set."""

    members: Set


class Look(NamedTuple):
    """Go on if the place is one of ``"\\A"``, ``"\\z"``, ``"^"``, ``"$"``, ``"\\b"``, ``"\\B"``."""

    place: str


class Jump(NamedTuple):
    """Go on at each of these distances."""

    distances: tuple[int, ...]


Program = tuple["Take | Look | Jump", ...]


class _Part(NamedTuple):
    """A part of a program, and how often the repetitions in it repeat its innermost."""

    code: Program
    repeats: int = 1


@dataclass
class _Group:
    """An open group: what is to hold again after it, and what stands in it so far."""

    flags: frozenset[str]
    branches: list[_Part] = field(default_factory=list)
    parts: list[_Part] = field(default_factory=list)

    def branch(self) -> None:
        """End the alternative that is being read."""
        code = tuple(instruction for part in self.parts for instruction in part.code)
        self.branches.append(_Part(code, max((p.repeats for p in self.parts), default=1)))
        self.parts = []

    def whole(self) -> _Part:
        """All alternatives."""
        self.branch()
        *others, last = self.branches
        code, repeats = last
        for part in reversed(others):
            fork, end = Jump((1, len(part.code) + 2)), Jump((len(code) + 1,))
            code = (fork, *part.code, end, *code)
            repeats = max(repeats, part.repeats)
        return _Part(code, repeats)


def parse(pattern: str) -> Program:
    """The program of a regular expression.

    Raises SchemaError for what is no RE2 syntax, UnsupportedError for single bytes (``\\C``) and
    scripts (``\\p{Greek}``).
    """
    return _Parser(pattern).program()


class _Parser:
    """Reads a pattern from left to right; open groups are on a stack."""

    def __init__(self, pattern: str) -> None:
        self.pattern, self.at = pattern, 0
        self.flags: frozenset[str] = frozenset()
        self.groups = [_Group(self.flags)]
        self.names: set[str] = set()
        #: Where a repetition ends that may not be repeated itself.
        self.repeated = -1
        #: Instructions of all parts so far.
        self.length = 0

    def program(self) -> Program:
        while self.at < len(self.pattern):
            self._read(self._next())
        if len(self.groups) > 1:
            self._fail("missing )")
        return self.groups[0].whole().code

    def _read(self, character: str) -> None:
        match character:
            case "(":
                self._open()
            case ")":
                self._close()
            case "|":
                self.groups[-1].branch()
            case "*" | "+" | "?":
                self._repeat(int(character == "+"), 1 if character == "?" else None)
            case "{" if counts := _COUNTS.match(self.pattern, self.at - 1):
                self._repeat_counted(counts)
            case "^" | "$":
                self._add(Look(character if "m" in self.flags else _EDGES[character]))
            case "\\":
                self._read_escape()
            case _:
                self._take(self._set(character))

    def _set(self, character: str) -> Set:
        """What a character stands for that is none of the operators."""
        if character == "[":
            return self._class()
        if character == ".":
            return ANY if "s" in self.flags else _NO_NEWLINE
        return self._fold(single(ord(character)))

    def _next(self) -> str:
        if self.at == len(self.pattern):
            self._fail("it ends too early")
        self.at += 1
        return self.pattern[self.at - 1]

    def _find(self, what: re.Pattern[str]) -> re.Match[str] | None:
        """What stands here, if it is like this; it is then read."""
        found = what.match(self.pattern, self.at)
        if found:
            self.at = found.end()
        return found

    def _fail(self, why: str) -> NoReturn:
        raise SchemaError(
            f"pattern {self.pattern!r} is no RE2 syntax: {why}, before position {self.at}"
        )

    def _add(self, *code: Take | Look | Jump, repeats: int = 1) -> None:
        self._lengthen(len(code))
        self.groups[-1].parts.append(_Part(code, repeats))

    def _lengthen(self, count: int) -> None:
        self.length += count
        if self.length > _LONGEST:
            raise UnsupportedError(f"pattern {self.pattern!r} takes more than {_LONGEST} steps")

    def _take(self, members: Set) -> None:
        self._add(Take(members))

    def _fold(self, members: Set) -> Set:
        return folded(members) if "i" in self.flags else members

    # Groups

    def _open(self) -> None:
        if not self.pattern.startswith("?", self.at):
            self._push(self.flags)
        elif named := self._find(_NAMED):
            if named[1] in self.names:
                self._fail(f"the name {named[1]} is used twice")
            self.names.add(named[1])
            self._push(self.flags)
        elif flags := self._find(_FLAGS):
            wanted = (self.flags | set(flags[1])) - set(flags[2] or "")
            if flags[3] == ":":
                self._push(self.flags)
            self.flags = wanted
        else:
            self._fail("( is followed by what RE2 does not have")

    def _push(self, flags: frozenset[str]) -> None:
        if len(self.groups) > _MOST_GROUPS:
            self._fail(f"there are more than {_MOST_GROUPS} groups in each other")
        self.groups.append(_Group(flags))

    def _close(self) -> None:
        if len(self.groups) == 1:
            self._fail("unexpected )")
        group = self.groups.pop()
        self.flags = group.flags
        part = group.whole()
        self.length -= len(part.code)
        self._add(*part.code, repeats=part.repeats)

    # Repetitions

    def _repeat_counted(self, counts: re.Match[str]) -> None:
        self.at = counts.end()
        least = int(counts[1])
        most = least if not counts[2] else int(counts[3]) if counts[3] else None
        if max(least, most or 0) > _MOST_REPEATS or (most is not None and least > most):
            self._fail(f"{counts[0]} is no number of repetitions")
        self._repeat(least, most, start=counts.start())

    def _repeat(self, least: int, most: int | None, start: int | None = None) -> None:
        counted, start = start is not None, self.at - 1 if start is None else start
        parts = self.groups[-1].parts
        if not parts:
            self._fail("there is nothing to repeat")
        if start == self.repeated:
            self._fail("a repetition is repeated")
        if self.pattern.startswith("?", self.at):
            self.at += 1  # lazy
        self.repeated = self.at
        code, repeats = parts.pop()
        if counted:
            repeats *= max(least if most is None else most, 1)
        if repeats > _MOST_REPEATS:
            self._fail(f"there are more than {_MOST_REPEATS} repetitions within each other")
        copies = least + (1 if most is None else most - least)
        self._lengthen(len(code) * (copies - 1))
        self.length -= len(code) * copies
        optional = (Jump((1, len(code) + 1)), *code)
        if most is None:
            optional = (Jump((1, len(code) + 2)), *code, Jump((-len(code) - 1,)))
        self._add(*code * least, *optional * (copies - least), repeats=repeats)

    # Escapes and classes

    def _read_escape(self) -> None:
        character = self._next()
        if character in "AzbB":
            self._add(Look("\\" + character))
        elif character == "C":
            raise UnsupportedError(f"pattern {self.pattern!r} has \\C, a byte of a character")
        elif character == "Q":
            end = self.pattern.find("\\E", self.at)
            literal = self.pattern[self.at : None if end < 0 else end]
            self.at = len(self.pattern) if end < 0 else end + 2
            for letter in literal:
                self._take(self._fold(single(ord(letter))))
        elif members := self._named_class(character):
            self._take(members)
        else:
            self._take(self._fold(single(self._escaped(character))))

    def _named_class(self, character: str) -> Set | None:
        """The set that ``\\d``, ``\\pL`` and their like name, None for other escapes."""
        lower = character.lower()
        if lower in PERL_CLASSES:
            return self._signed(PERL_CLASSES[lower], character.isupper())
        if lower != "p":
            return None
        found = self._find(_PROPERTY)
        if not found:
            self._fail(f"\\{character} needs a name")
        name = found[2] if found[2] is not None else found[4]
        members = category(name)
        if members is None:
            raise UnsupportedError(
                f"pattern {self.pattern!r} has \\p{{{name}}}, which is no general category"
            )
        return self._signed(members, character.isupper() != bool(found[1]))

    def _signed(self, members: Set, is_negative: bool) -> Set:
        members = self._fold(members)
        return inverted(members) if is_negative else members

    def _escaped(self, character: str) -> int:
        """The code point that an escape means."""
        if character in _ESCAPES:
            return _ESCAPES[character]
        if character == "x" and (digits := self._find(_HEX)):
            code = int(digits[1] or digits[2], 16)
            if code in range(*ANY):
                return code
        elif character.isascii() and not character.isalnum():
            return ord(character)
        elif "0" <= character <= "7":
            self.at -= 1
            octal = self._find(_OCTAL)
            if octal and (character == "0" or len(octal[0]) > 1):
                return int(octal[0], 8)
        self._fail(f"there is no escape \\{character}")

    def _class(self) -> Set:
        """``[a-z]``, of which the first bracket is read."""
        start = self.at
        negative = self.pattern.startswith("^", self.at)
        self.at += negative
        sets: list[Set] = []
        while not self.pattern.startswith("]", self.at) or self.at == start + negative:
            if self.at == len(self.pattern):
                self._fail("missing ]")
            sets.append(self._class_item())
        self.at += 1
        members = union(sets)
        return inverted(members) if negative else members

    def _class_item(self) -> Set:
        if found := self._find(_POSIX):
            if found[2] not in ASCII_CLASSES:
                self._fail(f"there is no class {found[0]}")
            return self._signed(ASCII_CLASSES[found[2]], bool(found[1]))
        first = self._next()
        if first == "\\":
            first = self._next()
            if members := self._named_class(first):
                return members
            low = self._escaped(first)
        else:
            low = ord(first)
        high = self._range_end(low)
        if high < low:
            self._fail("a range ends before it begins")
        return self._fold((low, high + 1))

    def _range_end(self, low: int) -> int:
        rest = self.pattern[self.at : self.at + 2]
        if len(rest) < 2 or rest[0] != "-" or rest[1] == "]":
            return low
        self.at += 1
        last = self._next()
        return self._escaped(self._next()) if last == "\\" else ord(last)
