"""What the processor that Numba compiles *for* can do, which may be less than this one can."""

from __future__ import annotations

import re
from functools import cache

from llvmlite import binding
from numba.core.registry import cpu_target

__all__ = ["cpu", "has_byte_permute", "has_half"]

# Both directions of half <-> float, the only two that minirt's intrinsics emit.
_PROBE = """
define float @widen(half %x) {
  %y = fpext half %x to float
  ret float %y
}
define half @narrow(float %x) {
  %y = fptrunc float %x to half
  ret half %y
}
"""
_LIBRARY_CALL = re.compile(r"__(extendhfsf2|truncsfhf2|gnu_h2f_ieee|gnu_f2h_ieee)")

# Bytes of a vector in an order for which there is one instruction, or else many.
_SHUFFLE = """
define <64 x i8> @two(<64 x i8> %a, <64 x i8> %b) {{
  %c = shufflevector <64 x i8> %a, <64 x i8> %b, <64 x i32> <{two}>
  ret <64 x i8> %c
}}
define <32 x i8> @halves(<32 x i8> %a) {{
  %b = shufflevector <32 x i8> %a, <32 x i8> poison, <32 x i32> <{halves}>
  ret <32 x i8> %b
}}
"""
_PERMUTES = {"avx512vbmi": re.compile(r"vperm[it]2b"), "avx2": re.compile(r"vpshufb.*%ymm")}


@cache
def cpu() -> tuple[str, str, str]:
    """The triple, CPU name and feature string that Numba's code generator uses.

    ``NUMBA_CPU_NAME`` and ``NUMBA_CPU_FEATURES`` change them, so they say more than the
    host's own: code compiled for one must not be loaded for another.
    """
    triple, name, features = cpu_target.target_context.codegen().magic_tuple()
    return str(triple), str(name), str(features)


@cache
def has_half() -> bool:
    """Whether conversions between half and float compile to instructions.

    Elsewhere (x86 without F16C) LLVM calls library functions that a jitted module
    cannot reach, which ends in a crash: an integer twin has to do the work.
    """
    return _compiles_half(*cpu())


def _compiles_half(triple: str, name: str, features: str) -> bool:
    return _LIBRARY_CALL.search(_compile(_PROBE, triple, name, features)) is None


@cache
def has_byte_permute() -> str:
    """Which instructions pick bytes of a vector by index: "avx512vbmi", "avx2", or "" for none.

    "avx512vbmi" picks from 128 bytes, "avx2" from 16 (twice).
    """
    return _byte_permute(*cpu())


def _byte_permute(triple: str, name: str, features: str) -> str:
    two = ", ".join(f"i32 {i * 37 % 128}" for i in range(64))
    halves = ", ".join(f"i32 {i * 7 % 16 + i // 16 * 16}" for i in range(32))
    assembly = _compile(_SHUFFLE.format(two=two, halves=halves), triple, name, features)
    return next((key for key, found in _PERMUTES.items() if found.search(assembly)), "")


def _compile(source: str, triple: str, name: str, features: str) -> str:
    """Assembly. LLVM is asked, no feature string: a CPU name ("x86-64-v3") implies features."""
    target = binding.Target.from_triple(triple)
    machine = target.create_target_machine(cpu=name, features=features)
    return str(machine.emit_assembly(binding.parse_assembly(source)))
