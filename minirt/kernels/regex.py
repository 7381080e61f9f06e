"""Matching of whole texts with regular expressions, in time linear in the text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .regex_sets import PERL_CLASSES, contains
from .regex_syntax import Jump, Look, Take, parse

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Regex"]

#: What stands beside a place in a text; the edges of the text are none of these.
_WORD, _NEWLINE, _OTHER, _EDGE = "word", "newline", "other", "edge"

#: Transitions that are remembered, over all states.
_REMEMBERED = 20_000


class _State:
    """Where in a program a text may have led, and the kind of its last character."""

    def __init__(self, places: frozenset[int], before: str) -> None:
        self.places, self.before = places, before
        self.next: dict[str, _State] = {}


class Regex:
    """A regular expression in RE2's syntax. Raises what :func:`regex_syntax.parse` raises.

    All ways through the program are followed at once, so that no text takes more than time
    in proportion to its length; where characters lead is remembered.
    """

    def __init__(self, pattern: str) -> None:
        self._program = parse(pattern)
        self._forget()

    def matches(self, text: str) -> bool:
        """Whether the expression matches the whole of ``text``."""
        state = self._start
        for character in text:
            known = state.next.get(character)
            state = known or self._step(state, character)
            if not state.places:
                return False
        return len(self._program) in self._reach(state, _EDGE)

    def _forget(self) -> None:
        self._states: dict[tuple[frozenset[int], str], _State] = {}
        self._transitions = 0
        self._start = self._state(frozenset({0}), _EDGE)

    def _state(self, places: frozenset[int], before: str) -> _State:
        return self._states.setdefault((places, before), _State(places, before))

    def _step(self, state: _State, character: str) -> _State:
        """The state after another character."""
        if self._transitions >= _REMEMBERED:
            self._forget()
        code, kind = ord(character), _kind(character)
        places = set()
        for place in self._reach(state, kind):
            if place < len(self._program):
                instruction = self._program[place]
                if isinstance(instruction, Take) and contains(instruction.members, code):
                    places.add(place + 1)
        following = self._state(frozenset(places), kind)
        state.next[character] = following
        self._transitions += 1
        return following

    def _reach(self, state: _State, after: str) -> Iterable[int]:
        """All places to which instructions lead that take nothing."""
        found, stack = set(state.places), list(state.places)
        while stack:
            place = stack.pop()
            instruction = self._program[place] if place < len(self._program) else None
            targets: tuple[int, ...] = ()
            if isinstance(instruction, Jump):
                targets = instruction.distances
            elif isinstance(instruction, Look) and _holds(instruction, state.before, after):
                targets = (1,)
            for distance in targets:
                if place + distance not in found:
                    found.add(place + distance)
                    stack.append(place + distance)
        return found


def _kind(character: str) -> str:
    if character == "\n":
        return _NEWLINE
    return _WORD if contains(PERL_CLASSES["w"], ord(character)) else _OTHER


def _holds(look: Look, before: str, after: str) -> bool:
    """Whether a place between such characters is one that an instruction asks for."""
    match look.place:
        case "\\A":
            return before == _EDGE
        case "\\z":
            return after == _EDGE
        case "^":
            return before in (_EDGE, _NEWLINE)
        case "$":
            return after in (_EDGE, _NEWLINE)
        case boundary:
            return ((before == _WORD) != (after == _WORD)) == (boundary == "\\b")
