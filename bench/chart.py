"""Measurements as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .measure import Measurement
from .report import machine, size_text

__all__ = ["write"]

#: Contenders in the picture: label, colour, marker.
_SERIES = {
    "minirt": ("minirt", "#d1495b", "o"),
    "ort": ("ONNX Runtime", "#30638e", "s"),
    "torch": ("PyTorch", "#edae49", "^"),
    "numpy": ("NumPy, ml_dtypes", "#8d99ae", "D"),
}
_ROW = 0.19  # inches
_TICKS = (0.01, 0.03, 0.1, 0.3, 1)


def write(path: Path, found: Sequence[Measurement]) -> None:
    """Draw how fast each conversion is relative to the copy, at the largest size of each.

    The format is that of the name's ending, ``.svg`` or ``.png``. ImportError without
    matplotlib.
    """
    import matplotlib

    matplotlib.use("agg")
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "minirt", "font.size": 8})
    from matplotlib import pyplot

    measured = [one for one in found if "copy" in one.times]
    if not measured:
        return
    largest = max(one.size for one in measured)
    columns = sorted({one.threads for one in measured if one.size == largest})
    pairs = list(dict.fromkeys(one.pair for one in measured if one.size == largest))
    figure, axes = pyplot.subplots(
        1,
        len(columns),
        sharey=True,
        squeeze=False,
        figsize=(2.2 + 3.4 * len(columns), 1.4 + _ROW * len(pairs)),
        layout="constrained",
    )
    for axis, threads in zip(axes[0], columns, strict=True):
        _draw(axis, [o for o in measured if (o.size, o.threads) == (largest, threads)], pairs)
        axis.set_title(f"{threads} thread{'s' * (threads > 1)}", fontsize=9)
    axes[0][0].set_yticks(range(len(pairs)), [pair.replace("->", " → ") for pair in pairs])
    axes[0][0].set_ylim(len(pairs) - 0.5, -0.5)
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(_SERIES), frameon=False)
    figure.suptitle(
        f"Speed of casting {size_text(largest)}, relative to copying as many bytes\n"
        f"{machine()['processor']}",
        fontsize=10,
    )
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=120)
    pyplot.close(figure)


def _draw(axis: Any, measured: Sequence[Measurement], pairs: Sequence[str]) -> None:
    """One number of threads: a row a conversion, a mark a contender."""
    axis.axvline(1, color="#444444", linewidth=0.8, zorder=1)
    for name, (label, colour, marker) in _SERIES.items():
        points = [
            (one.times["copy"].seconds / one.times[name].seconds, pairs.index(one.pair))
            for one in measured
            if name in one.times
        ]
        if points:
            speeds, rows = zip(*points, strict=True)
            axis.scatter(
                speeds, rows, s=16, color=colour, marker=marker, label=label, linewidths=0, zorder=2
            )
    axis.set_xscale("log")
    axis.set_xticks(_TICKS, [f"{tick:g}" for tick in _TICKS])
    axis.minorticks_off()
    axis.set_xlabel("times the speed of the copy")
    axis.grid(axis="x", color="#dddddd", linewidth=0.6)
    axis.grid(axis="y", color="#eeeeee", linewidth=0.4)
    axis.set_axisbelow(True)
    axis.tick_params(length=0)
    for side in ("top", "right", "left", "bottom"):
        axis.spines[side].set_visible(False)
