"""Dropout: elements left out at random, in training."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..dtypes import BY_NAME
from ..errors import ExecutionError
from ..kernels.arrays import Shaped, computed
from ..types import TensorType
from .arguments import single
from .random import generator
from .registry import Alias, op, upgrade

if TYPE_CHECKING:
    from ..dtypes import DType
    from ..graph import Graph, Node

_BOOL = BY_NAME["bool"]


@op("Dropout", deterministic=False)
def dropout_6(data, *, is_test, ratio):
    """Before opset 7 it drops elements unless ``is_test`` says otherwise.

    ``mask`` has the type of ``data``.
    """
    if is_test:
        return _kept(data, data.dtype)
    results = (data.without_value(), data.without_value())
    return results, lambda: computed(
        lambda data, output, mask: _drop(data, ratio, output, mask), (data,), results
    )


@op("Dropout", since=7, deterministic=False)
def dropout_7(data, *, ratio):
    """Before opset 10 ``mask`` has the type of ``data``; nothing is dropped."""
    return _kept(data, data.dtype)


@op("Dropout", since=10, deterministic=False)
def dropout(data, ratio=None, training_mode=None, *, seed):
    """``data`` with a part ``ratio`` (0.5) of its elements made 0, and a mask of those kept.

    What is kept grows by ``1 / (1 - ratio)``. Without ``training_mode`` the output is ``data``.
    Raises ExecutionError for a ratio that is not in [0, 1).

    https://onnx.ai/onnx/operators/onnx__Dropout.html
    """
    single("ratio", ratio)
    if training_mode is None or single("training_mode", training_mode) == 0:
        return _kept(data, _BOOL)
    mask = data.with_dtype(_BOOL)

    def kernel():
        drop = computed(
            lambda data, ratio, output, mask: _drop(
                data, 0.5 if ratio is None else ratio.item(), output, mask, seed
            ),
            (data, ratio),
            (data, mask),
        ).function

        def run(data, ratio, training_mode, output, mask):
            if training_mode.any():
                drop(data, ratio, output, mask)
            else:
                np.copyto(output, data)
                if mask is not None:
                    mask.fill(1)

        return Shaped(run)

    return (data.without_value(), mask), kernel


def _kept(data, mask_dtype: DType):
    """``data`` itself, and a mask of ones, which takes no memory unless it is used."""
    mask = data.with_dtype(mask_dtype)
    if mask.is_concrete:
        one = np.ones((), mask_dtype.public).view(mask_dtype.storage)
        mask = TensorType(mask_dtype, mask.shape, np.broadcast_to(one, mask.shape))
    return (data, mask), Alias("data")


def _drop(
    data: np.ndarray,
    ratio: float,
    output: np.ndarray,
    mask: np.ndarray | None,
    seed: int | None = None,
) -> None:
    if not 0 <= ratio < 1:
        raise ExecutionError(f"ratio is {ratio}, but it must be at least 0 and less than 1")
    kept = generator(seed).random_sample(data.shape) >= ratio
    if mask is not None:
        mask[...] = kept
    with np.errstate(all="ignore"):
        np.multiply(data, kept, out=output)
        output *= output.dtype.type(1 / (1 - ratio))


@upgrade("Dropout", to=6)
def _(node: Node, graph: Graph) -> None:
    """Dropout-1 has a hint for memory."""
    node.attributes.pop("consumed_inputs", None)


@upgrade("Dropout", to=12)
def _(node: Node, graph: Graph) -> None:
    """Before Dropout-12 nothing is dropped, so its ratio does not matter."""
    node.attributes.pop("ratio", None)
