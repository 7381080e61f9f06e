"""What the processor that Numba compiles *for* can do, which may be less than this one can."""

from __future__ import annotations

import re
from functools import cache

from llvmlite import binding
from numba.core.registry import cpu_target

__all__ = ["cpu", "has_half"]

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
    # LLVM is asked, not the feature string: a CPU name alone ("x86-64-v3") implies features.
    target = binding.Target.from_triple(triple)
    machine = target.create_target_machine(cpu=name, features=features)
    assembly = machine.emit_assembly(binding.parse_assembly(_PROBE))
    return _LIBRARY_CALL.search(assembly) is None
