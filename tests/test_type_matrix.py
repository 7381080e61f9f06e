"""TYPES.md says what is true: every cell of it is run."""

from __future__ import annotations

import pytest
from type_matrix import KERNEL, OPERATORS, PAGE, Row, page, rows

from minirt.dtypes import BY_NAME

LINES = PAGE.read_text("utf-8").splitlines()

#: Kernels that no case holds against right results, though they run: what quantises narrow
#: floats, and what reads nothing but a shape or one number.
UNPROVEN = {
    "DequantizeLinear": {"x, x_zero_point"},
    "Dropout": {"ratio"},
    "QLinearMatMul": {
        *("a, a_zero_point", "a_scale, b_scale, y_scale", "b, b_zero_point", "y_zero_point, y"),
    },
    "QuantizeLinear": {"y_zero_point, y"},
    "RandomNormalLike": {"input"},
    "RandomUniformLike": {"input"},
    "Round": {"X, Y"},
}


def name(key: tuple[str, str]) -> str:
    return ".".join(filter(None, key))


@pytest.mark.parametrize("key", OPERATORS, ids=name)
def test_the_rows_of_an_operator_are_what_is_found(key):
    """Where a kernel is claimed a case compares results, or a node runs at least."""
    found = list(rows(OPERATORS[key]))
    stated = [line for line in LINES if line.startswith(f"| {name(key)} |")]
    assert stated == [str(row) for row in found]
    assert {row.parameters for row in found if row.unproven} == UNPROVEN.get(name(key), set())


def test_the_page_has_every_operator_once_and_in_order():
    titles = [line.split(" | ")[0].removeprefix("| ") for line in LINES if line.startswith("| ")]
    assert list(dict.fromkeys(titles[1:])) == [name(key) for key in OPERATORS]


def test_a_row_has_a_column_for_each_type():
    row = Row("Add", "A, B, C", {BY_NAME["float"]: KERNEL, BY_NAME["float6e3m2"]: "–"})
    text = page([row])
    heads = [line for line in text.splitlines() if line.startswith("| operator |")]
    assert heads == [line for line in LINES if line.startswith("| operator |")]
    assert text.splitlines()[-1] == f"| Add | A, B, C | k |{'   |' * 26} – |"
    assert text.split("| operator |")[0] == "\n".join(LINES).split("| operator |")[0]
