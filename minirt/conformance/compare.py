"""When an output equals what a test case expects.

Types, shapes and nesting exact. Integers, bool, strings exact. Floats of at most 8
bits: the same value (any NaN is any NaN, -0 is +0). bfloat16: codes at most 1 ulp
apart; NaN equals NaN, Inf only Inf. Wider floats: within the case's rtol and atol.
With ``ulp`` instead: at most that many codes apart for every float type, where the
zeros are one code apart and NaN equals NaN.

What was drawn at random is another each time: :func:`compare_draws`.

ONNX's own comparator is weaker: it misses one unit in the last place in every float
type, an off-by-one in large integers, the sign of zero and the lengths of nested lists.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.sparse import SparseTensor
from ..dtypes import BY_NAME, DType, Float, Kind, find
from ..types import SparseTensorType, TensorType

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["DEFAULT", "Comparison", "Tolerance", "compare", "compare_draws"]

_ARRAYS = (np.ndarray, np.generic)
_BFLOAT16 = BY_NAME["bfloat16"]

#: So many positions of a sparse tensor are listed.
_LISTED = 8


@dataclass(frozen=True)
class Tolerance:
    """How far a float may be off: |actual - expected| <= atol + rtol * |expected|.

    ``ulp``, where it is given, replaces the rules of every float type: the number of
    codes that an element may be away.
    """

    rtol: float = 1e-3
    atol: float = 1e-7
    ulp: int | None = None


#: What ONNX's suite uses where a case does not say otherwise.
DEFAULT = Tolerance()


@dataclass(frozen=True)
class Comparison:
    """How one value compares: ``differ`` of ``count`` elements have other bits.

    Any NaN counts as the same bits as any NaN. ``max_ulp`` is the largest distance in
    codes between two floats of which none is NaN. ``problem`` says in one line what is
    wrong, "" where the value passes.
    """

    count: int = 0
    differ: int = 0
    max_ulp: int = 0
    problem: str = ""

    @property
    def passed(self) -> bool:
        """Whether the value is within the tolerance."""
        return not self.problem

    def __add__(self, other: Comparison) -> Comparison:
        """Both together; the first problem is kept."""
        return Comparison(
            self.count + other.count,
            self.differ + other.differ,
            max(self.max_ulp, other.max_ulp),
            self.problem or other.problem,
        )


def compare(
    expected: Any, actual: Any, tolerance: Tolerance = DEFAULT, *, name: str = "output"
) -> Comparison:
    """Compare a value with the expected one: arrays, sparse tensors, lists and dicts, or None.

    Arrays have the types that callers hold (ml_dtypes' for the narrow ones, object
    arrays of str for strings). ``name`` stands in front of the index in a problem.
    """
    if isinstance(expected, (list, tuple)) and isinstance(actual, (list, tuple)):
        return _compare_lists(expected, actual, tolerance, name)
    if isinstance(expected, dict) and isinstance(actual, dict):
        return _compare_dicts(expected, actual, tolerance, name)
    if isinstance(expected, _ARRAYS) and isinstance(actual, _ARRAYS):
        return _compare_arrays(np.asarray(expected), np.asarray(actual), tolerance, name)
    if isinstance(expected, SparseTensor) and isinstance(actual, SparseTensor):
        return _compare_sparse(expected, actual, tolerance, name)
    if expected is None and actual is None:
        return Comparison()
    return _mismatch(name, _describe(expected), _describe(actual))


def compare_draws(expected: Any, actual: Any, *, name: str = "output") -> Comparison:
    """Compare what was drawn at random: types and shapes, and that no other values occur.

    The expected value has to be an array of zeros and ones alone, the outcomes of trials: of
    anything else this is :func:`compare`. How often they come up, a few do not tell.
    """
    exact = compare(expected, actual, name=name)
    if exact.passed or not isinstance(expected, _ARRAYS) or not exact.count:
        return exact
    if not (_is_outcome(expected).all() and _is_outcome(actual).all()):
        return exact
    return replace(exact, problem="")


def _is_outcome(array: Any) -> Any:
    return (array == 0) | (array == 1)


def _compare_lists(
    expected: Sequence[Any], actual: Sequence[Any], tolerance: Tolerance, name: str
) -> Comparison:
    if len(expected) != len(actual):
        return _mismatch(name, _describe(expected), _describe(actual))
    pairs = enumerate(zip(expected, actual, strict=True))
    return _total(compare(e, a, tolerance, name=f"{name}[{i}]") for i, (e, a) in pairs)


def _compare_dicts(
    expected: dict[Any, Any], actual: dict[Any, Any], tolerance: Tolerance, name: str
) -> Comparison:
    if expected.keys() != actual.keys():
        return _mismatch(name, f"the keys {sorted(expected)}", f"the keys {sorted(actual)}")
    return _total(
        compare(expected[k], actual[k], tolerance, name=f"{name}[{k!r}]") for k in expected
    )


def _compare_sparse(
    expected: SparseTensor, actual: SparseTensor, tolerance: Tolerance, name: str
) -> Comparison:
    if expected.shape != actual.shape:
        return _mismatch(name, _describe(expected), _describe(actual))
    wanted, found = expected.indices, actual.indices
    if wanted.ndim != found.ndim:
        wanted, found = _positions(expected), _positions(actual)
    if wanted.shape != found.shape or (wanted != found).any():
        return _mismatch(name, f"values at {_some(wanted)}", f"values at {_some(found)}")
    return compare(expected.values, actual.values, tolerance, name=f"{name}.values")


def _positions(sparse: SparseTensor) -> np.ndarray:
    """Where the values are, in C order."""
    if sparse.indices.ndim == 1:
        return sparse.indices
    positions = np.zeros(sparse.values.size, object)  # a sparse shape can be beyond 64 bits
    for axis, size in enumerate(sparse.shape):
        positions = positions * size + sparse.indices[:, axis]
    return positions


def _some(indices: np.ndarray) -> str:
    return f"{indices[:_LISTED].tolist()}{', ...' if len(indices) > _LISTED else ''}"


def _total(parts: Iterable[Comparison]) -> Comparison:
    return reduce(Comparison.__add__, parts, Comparison())


def _mismatch(name: str, expected: str, actual: str) -> Comparison:
    return Comparison(problem=f"{name}: expected {expected}, got {actual}")


def _describe(value: Any) -> str:
    if isinstance(value, _ARRAYS):
        dtype = find(value.dtype)
        return str(TensorType(dtype, value.shape)) if dtype else f"an array of {value.dtype}"
    if isinstance(value, SparseTensor):
        dtype = find(value.values.dtype)
        return str(SparseTensorType(dtype, value.shape)) if dtype else "a sparse tensor"
    if isinstance(value, (list, tuple, dict)):
        return f"a {'map' if isinstance(value, dict) else 'sequence'} of {len(value)}"
    return "None" if value is None else f"a {type(value).__name__}"


def _compare_arrays(
    expected: np.ndarray, actual: np.ndarray, tolerance: Tolerance, name: str
) -> Comparison:
    dtype = find(expected.dtype)
    if dtype is None or dtype is not find(actual.dtype) or expected.shape != actual.shape:
        return _mismatch(name, _describe(expected), _describe(actual))
    e, a = _flat(expected), _flat(actual)
    same, accepted, distance = _compare_elements(e, a, dtype, tolerance)
    max_ulp = int(distance.max(initial=0))
    problem = ""
    if not accepted.all():
        first = int(np.argmin(accepted))
        problem = (
            f"{name}{_index(first, expected.shape)}: expected {_show(e[first], dtype)}, "
            f"got {_show(a[first], dtype)}; {np.sum(~accepted)} of {e.size} elements wrong"
            + (f", up to {max_ulp} ulp off" if max_ulp else "")
        )
    return Comparison(e.size, int(np.sum(~same)), max_ulp, problem)


def _compare_elements(
    expected: np.ndarray, actual: np.ndarray, dtype: DType, tolerance: Tolerance
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which elements have the same bits, which are accepted, and their distance in codes."""
    if dtype.is_float:
        return _compare_floats(expected, actual, dtype, tolerance)
    if dtype.kind is Kind.COMPLEX:
        part = BY_NAME["float" if dtype.bits == 64 else "double"]
        same, accepted, distance = _compare_floats(
            expected.view(part.public), actual.view(part.public), part, tolerance
        )
        return same[::2] & same[1::2], accepted[::2] & accepted[1::2], distance
    if dtype.kind is not Kind.STRING:
        expected, actual = _codes(expected, dtype), _codes(actual, dtype)
    same = np.asarray(expected == actual, dtype=bool)
    return same, same, np.zeros(0, np.uint8)


def _compare_floats(
    expected: np.ndarray, actual: np.ndarray, dtype: DType, tolerance: Tolerance
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    e, a = _Floats(expected, dtype), _Floats(actual, dtype)
    number = ~e.nan & ~a.nan
    same = np.where(number, e.codes == a.codes, e.nan & a.nan)
    distance = np.where(number, np.maximum(e.ranks, a.ranks) - np.minimum(e.ranks, a.ranks), 0)
    if tolerance.ulp is not None:
        close = distance <= tolerance.ulp
    elif dtype.bits <= 8:
        close = e.zero & a.zero
    elif dtype is _BFLOAT16:
        close = (distance <= 1) & ~e.inf & ~a.inf
    else:
        close = _is_close(expected, actual, tolerance)
    return same, same | close & number, distance


class _Floats:
    """The codes of a flat float array, and what they mean.

    ``ranks`` grow by one from each value of the type to the next: up through the
    negative values, -0, +0, and the positive ones. Those of NaN mean nothing.
    """

    def __init__(self, flat: np.ndarray, dtype: DType) -> None:
        layout = dtype.float or Float(0, 0, 0)
        fnuz = layout.nan == "neg_zero"
        self.codes = codes = _codes(flat, dtype)
        magnitudes = codes & (dtype.code_mask >> layout.signed)
        self.zero = magnitudes == 0
        self.inf = magnitudes == (-1 if dtype.inf_code is None else dtype.inf_code)
        beyond = (magnitudes > dtype.largest_code) & ~self.inf
        self.nan = codes == dtype.nan_code if fnuz else beyond
        self.ranks = codes
        if layout.signed:
            sign = 1 << (dtype.bits - 1)
            # FNUZ formats have no -0, so their negative values are one nearer to zero.
            negative = ~codes + fnuz & dtype.code_mask
            self.ranks = np.where(codes & sign, negative, codes | sign)


def _is_close(expected: np.ndarray, actual: np.ndarray, tolerance: Tolerance) -> np.ndarray:
    with np.errstate(all="ignore"):
        e, a = np.asarray(expected, np.float64), np.asarray(actual, np.float64)
        near = np.abs(a - e) <= tolerance.atol + tolerance.rtol * np.abs(e)
    return np.asarray(near & np.isfinite(e) & np.isfinite(a))


def _flat(array: np.ndarray) -> np.ndarray:
    """The elements in row-major order and native byte order."""
    return np.ascontiguousarray(array, array.dtype.newbyteorder("=")).reshape(-1)


def _codes(flat: np.ndarray, dtype: DType) -> np.ndarray:
    """The bits that mean something; ml_dtypes leaves those above a narrow type undefined."""
    codes: np.ndarray = flat.view(f"u{flat.itemsize}")
    return codes & codes.dtype.type(dtype.code_mask) if dtype.is_packed else codes


def _index(flat_index: int, shape: tuple[int, ...]) -> str:
    if not shape:
        return ""
    return f"[{','.join(str(int(i)) for i in np.unravel_index(flat_index, shape))}]"


def _show(element: Any, dtype: DType) -> str:
    """The value, and its bits: ``1.5 (0x3fc00000)``."""
    if dtype.kind is Kind.STRING:
        return repr(element)
    parts = 2 if dtype.kind is Kind.COMPLEX else 1
    array = np.asarray(element).reshape(1)
    codes = _codes(array.view(f"u{array.itemsize // parts}"), dtype)
    digits = -(-dtype.bits // (4 * parts))
    if dtype.is_float and dtype.public.isbuiltin != 1:
        element = float(element)  # ml_dtypes prints six digits of a number
    return f"{element!s} ({' '.join(f'0x{int(code):0{digits}x}' for code in codes)})"
