"""Speed of minirt beside its peers: ``python -m bench cast``, also ``minirt bench cast``.

Part of the source tree, not of the installed package: it checks what it times against the
exact arithmetic of the tests. See README.md.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a benchmark; 0 if all it timed was right, 1 if not, 2 for wrong usage."""
    from .command import main

    return main(arguments)
