"""Numba loops over flat buffers, one name a job.

Importing this package compiles nothing and does not import numba: a name is resolved
when a thunk first asks for it.
"""

from __future__ import annotations

from ..jit.jobs import import_undisturbed
from ..lazy import lazy

#: Which module has which name.
_HOMES = {
    "chooser": "choice",
    "convert": "cast",
    "convert_from_packed": "packed",
    "convert_to_packed": "packed",
    "dequantize": "quantized",
    "divide_integers": "quotients",
    "join": "runs",
    "repeat": "runs",
    "take_apart": "runs",
    "transpose": "permute",
    "fold": "folds",
    "hardmax": "softmaxes",
    "log_softmax": "softmaxes",
    "softmax": "softmaxes",
    "normalize": "normalization",
    "shift_and_scale": "normalization",
    "cumulate": "cumulation",
    "multiply_integers": "integers",
    "multiply_short": "integers",
    "topk": "selection",
    "gather_elements": "addressed",
    "gather_rows": "addressed",
    "non_max_suppression": "boxes",
    "one_hot": "onehot",
    "quantize": "quantized",
    "Places": "quantized",
    "scatter_elements": "addressed",
    "scatter_rows": "addressed",
    "map_scalar": "scalars",
}

__all__ = sorted(_HOMES)

__getattr__ = lazy(globals(), _HOMES, import_undisturbed)
