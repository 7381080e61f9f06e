"""The language of -k."""

from __future__ import annotations

import pytest

from minirt.conformance.keywords import parse_keywords
from minirt.errors import InputError

NAMES = ["test_cast_FLOAT_to_INT8", "test_castlike_INT8_to_STRING", "test_add", "v1.18.0/test_abs"]

SELECTIONS = [
    ("", [0, 1, 2, 3]),
    ("  ", [0, 1, 2, 3]),
    ("cast", [0, 1]),
    ("test_cast_", [0]),
    ("float", [0]),
    ("CAST", [0, 1]),
    ("nothing", []),
    ("test_cast_ or test_castlike_", [0, 1]),
    ("cast and not string", [0]),
    ("not cast", [2, 3]),
    ("not not cast", [0, 1]),
    ("not cast or string", [1, 2, 3]),
    ("not (cast or add)", [3]),
    ("add or cast and string", [1, 2]),
    ("(add or cast) and string", [1]),
    ("((add))", [2]),
    ("v1.18.0", [3]),
    ("v1.18.0/test", [3]),
    ("notation or add", [2]),
    ("andor", []),
]


@pytest.mark.parametrize(("expression", "selected"), SELECTIONS)
def test_selection(expression, selected):
    fits = parse_keywords(expression)
    assert [i for i, name in enumerate(NAMES) if fits(name)] == selected


ERRORS = [
    ("cast or", "-k 'cast or', column 8: expected a word, 'not' or '(', found the end"),
    ("or cast", "-k 'or cast', column 1: expected a word, 'not' or '(', found 'or'"),
    ("(cast", "-k '(cast', column 6: expected ')', found the end"),
    ("cast)", "-k 'cast)', column 5: expected 'and', 'or' or the end, found ')'"),
    ("cast add", "-k 'cast add', column 6: expected 'and', 'or' or the end, found 'add'"),
    ("cast & add", "-k 'cast & add', column 6: this character is no part of a word, found '&'"),
    ("not", "-k 'not', column 4: expected a word, 'not' or '(', found the end"),
    ("()", "-k '()', column 2: expected a word, 'not' or '(', found ')'"),
]


@pytest.mark.parametrize(("expression", "message"), ERRORS)
def test_errors_show_the_place(expression, message):
    with pytest.raises(InputError) as caught:
        parse_keywords(expression)
    assert str(caught.value) == message
