"""Normalisation of lines: neighbours that have the same mean, variance, scale and bias."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..jit import kernel
from .folds import sum_of_line

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[..., None]

__all__ = ["normalize", "shift_and_scale"]


@kernel(whole=("x", "mean", "factor", "bias", "out"))
def shift_and_scale_lines(lines, x, mean, factor, bias, out, count):
    """out = (x - mean) * factor + bias; lines take these in turn."""
    for k in range(lines.size):
        start, which = lines[k] * count, lines[k] % mean.size
        line, result = x[start : start + count], out[start : start + count]
        m, f, b = mean[which], factor[which], bias[which]
        for i in range(line.size):
            result[i] = (line[i] - m) * f + b


@kernel(whole=("x", "scale", "bias", "out"))
def normalize_lines(lines, x, scale, bias, out, count, epsilon):
    """out = (x - mean) / sqrt(var + epsilon) * scale + bias, of each line, in float64."""
    numbers = np.empty(count)
    for k in range(lines.size):
        start, which = lines[k] * count, lines[k] % scale.size
        line, result = x[start : start + count], out[start : start + count]
        for i in range(count):
            numbers[i] = line[i]
        mean = sum_of_line(numbers, 0, count) / count
        for i in range(count):
            numbers[i] = (line[i] - mean) * (line[i] - mean)
        variance = sum_of_line(numbers, 0, count) / count
        factor, b = scale[which] / np.sqrt(variance + epsilon), bias[which]
        for i in range(count):
            result[i] = (line[i] - mean) * factor + b


def shift_and_scale(dtype: np.dtype, lines: int, count: int) -> Run:
    """``run(x, mean, factor, bias, out)``: (x - mean) * factor + bias.

    ``x`` and ``out`` are flat buffers of ``dtype``, float32 or float64, with as many lines of
    ``count`` elements. The others are rounded to that; they have an element for each of the first
    lines, and then again.
    """
    numbers = np.arange(lines)
    run = shift_and_scale_lines.bind(
        numbers, dtype, dtype, dtype, dtype, dtype, count, size=lines, cost=_cost(dtype, count)
    )
    return lambda x, mean, factor, bias, out: run(
        x, *(term.astype(dtype).reshape(-1) for term in (mean, factor, bias)), out
    )


def normalize(dtype: np.dtype, lines: int, count: int, epsilon: float) -> Run:
    """``run(x, scale, bias, out)``: each line less its mean, over its standard deviation.

    As :func:`shift_and_scale`; it is computed in float64. Of an empty line comes nothing.
    """
    real, numbers = np.dtype("f8"), np.arange(lines if count else 0)
    run = normalize_lines.bind(
        numbers,
        dtype,
        real,
        real,
        dtype,
        count,
        float(epsilon),
        size=numbers.size,
        cost=4 * _cost(dtype, count),
    )
    return lambda x, scale, bias, out: run(x, scale.astype(real), bias.astype(real), out)


def _cost(dtype: np.dtype, count: int) -> float:
    """The work for a line, by the bytes of its number."""
    return 2 * dtype.itemsize * count / np.dtype(np.intp).itemsize
