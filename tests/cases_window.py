"""Windows, against their formulas with the digits of long double."""

from __future__ import annotations

import numpy as np
from cases import Case

from minirt.dtypes import BY_CODE, BY_NAME
from minirt.errors import SchemaError, ShapeError

#: How far ONNX's definition is off, which computes in float32, where nothing is 0.
FLOATS = {"float16": 1, "bfloat16": 1, "float": 40, "double": None}
COARSE = "computes in float32"
INTEGERS = ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64")
LONG = np.longdouble
WEIGHTS = {
    "HannWindow": (LONG(1) / 2, LONG(1) / 2, LONG(0)),
    "HammingWindow": (LONG(25) / 46, LONG(21) / 46, LONG(0)),
    "BlackmanWindow": (LONG(42) / 100, LONG(1) / 2, LONG(8) / 100),
}
PI = LONG("3.14159265358979323846264338327950288")


def formula(name):
    def window(size, output_datatype=1, periodic=1):
        count = int(np.reshape(size, ()))
        angles = 2 * PI * np.arange(count, dtype=LONG) / LONG(count if periodic else count - 1)
        first, second, third = WEIGHTS[name]
        numbers = first - second * np.cos(angles) + third * np.cos(2 * angles)
        numbers[abs(numbers) < 1e-18] = 0  # what is left of sums that are 0
        return numbers.astype(BY_CODE[output_datatype].public)

    return window


def rows(name):
    def row(size, dtype, periodic, **options):
        attributes = {"output_datatype": BY_NAME[dtype].code, "periodic": periodic}
        return Case(name, (size,), formula(name), attributes, **options)

    for size, periodic in ((np.int64(7), 1), (np.int32(6), 0), (np.int64(50), 1)):
        for dtype, body_ulp in FLOATS.items():
            reason = "" if body_ulp and name == "HammingWindow" else COARSE
            ulp = 4 if dtype == "double" else 0
            yield row(size, dtype, periodic, ulp=ulp, body_ulp=body_ulp, no_body=reason)
    for dtype in INTEGERS:
        yield row(np.int64(7), dtype, 1, no_body=COARSE)
    for size in (np.int64(0), np.int64([1])):
        yield row(size, "double", 1, ulp=1, no_body=COARSE)
    single = {"periodic": 0}
    yield Case(name, (np.int64(1),), np.float32([np.nan]), single)
    for size in (np.int64([2, 3]), np.int64(-1)):
        yield Case(name, (size,), raises=(ShapeError, "size"))
    wrong = {"output_datatype": BY_NAME["bool"].code}
    yield Case(name, (np.int64(3),), attributes=wrong, raises=(SchemaError, "output_datatype=9"))


CASES = [row for name in WEIGHTS for row in rows(name)]
