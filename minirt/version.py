"""Which minirt this is."""

from __future__ import annotations

from importlib import metadata

__all__ = ["__version__"]

try:
    __version__ = metadata.version("minirt")
except metadata.PackageNotFoundError:
    __version__ = "0+unknown"  # run from a checkout that is not installed
