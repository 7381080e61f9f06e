"""What the target can do, as far as LLVM tells."""

from __future__ import annotations

from pathlib import Path

import pytest
from jit_process import run_python
from llvmlite import binding

from minirt.jit.target import _byte_permute, _compiles_half, cpu, has_byte_permute, has_half

X86, ARM = "x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"


@pytest.mark.parametrize(
    ("triple", "name", "features", "expected"),
    [
        (X86, "generic", "", False),
        (X86, "generic", "+f16c,+avx", True),
        (X86, "x86-64-v2", "", False),
        (X86, "x86-64-v3", "", True),  # the name alone implies it
        (X86, "haswell", "", True),
        (X86, "haswell", "-f16c", False),
        ("x86_64-pc-windows-msvc", "generic", "", False),
        ("x86_64-apple-darwin", "generic", "", False),
        (ARM, "generic", "", True),
        ("arm64-apple-darwin", "apple-m1", "", True),
    ],
)
def test_half_conversions_are_instructions(triple, name, features, expected) -> None:
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    assert _compiles_half(triple, name, features) is expected


@pytest.mark.parametrize(
    ("triple", "name", "features", "expected"),
    [
        (X86, "generic", "", ""),
        (X86, "x86-64-v2", "", ""),
        (X86, "x86-64-v3", "", "avx2"),
        (X86, "generic", "+avx2", "avx2"),
        (X86, "skylake-avx512", "", "avx2"),  # its AVX-512 picks no bytes
        (X86, "icelake-server", "", "avx512vbmi"),
        (X86, "znver4", "", "avx512vbmi"),
        (X86, "znver4", "-avx512vbmi", "avx2"),
        ("x86_64-pc-windows-msvc", "x86-64-v3", "", "avx2"),
        (ARM, "generic", "", ""),
        ("arm64-apple-darwin", "apple-m1", "", ""),
    ],
)
def test_bytes_are_picked_by_one_instruction(triple, name, features, expected) -> None:
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    assert _byte_permute(triple, name, features) == expected


def test_the_target_of_this_process() -> None:
    assert has_half() is _compiles_half(*cpu())
    assert has_byte_permute() == _byte_permute(*cpu())


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}, "generic | "),
        ({"NUMBA_CPU_NAME": "nocona", "NUMBA_CPU_FEATURES": "+sse3"}, "nocona | +sse3"),
    ],
)
def test_numbas_settings_choose_the_target(tmp_path: Path, environment, expected: str) -> None:
    script = """
    from minirt.jit.target import cpu
    print(*cpu()[1:], sep=" | ")
    """
    assert run_python(script, tmp_path, **environment) == expected + "\n"
