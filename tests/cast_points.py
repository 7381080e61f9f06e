"""Published points of Cast: what specification, test data and format definitions say outright.

They hold for the oracle (test_exact.py) and for minirt (test_cast_values.py).
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

import exact
from cast_data import Mode

__all__ = ["POINTS", "Points", "element"]

#: A line is a conversion and its points, ``source=result``: numbers by value (a source may
#: be rounded to its type, as a literal is), ``0x...`` for codes, and in a string type text.
_TABLE = """
# -- the formats: largest, smallest, special codes
float8e4m3fn -> double      0x7e=448 0xfe=-448 0x7f=nan 0xff=-nan 0x01=0.001953125 0x08=0.015625
float8e4m3fn -> double      0x78=256 0x38=1 0x80=-0 0x00=0
float8e4m3fnuz -> double    0x7f=240 0xff=-240 0x80=-nan 0x01=0.0009765625 0x40=1 0x00=0
float8e5m2 -> double        0x7b=57344 0x7c=inf 0xfc=-inf 0x7e=nan 0xfe=-nan 0x3c=1 0x80=-0
float8e5m2 -> double        0x01=0.0000152587890625
float8e5m2fnuz -> double    0x7f=57344 0xff=-57344 0x80=-nan 0x40=1 0x01=0.00000762939453125
float8e8m0 -> double        0x00=0x3800000000000000 0x7f=1 0x80=2 0xfe=0x47e0000000000000 0xff=nan
float4e2m1 -> double        0x0=0 0x1=0.5 0x2=1 0x3=1.5 0x4=2 0x5=3 0x6=4 0x7=6 0x8=-0 0xf=-6
float6e2m3 -> double        0x01=0.125 0x08=1 0x1f=7.5 0x20=-0 0x3f=-7.5
float6e3m2 -> double        0x01=0.0625 0x0c=1 0x1f=28 0x20=-0 0x3f=-28
bfloat16 -> double          0x3f80=1 0x0001=9.183549615799121e-41 0x7f80=inf 0x7fc0=nan
float16 -> double           0x3c00=1 0x7bff=65504 0x0001=5.960464477539063e-08 0xfc00=-inf
int4 -> int8                0x7=7 0x8=-8 0xf=-1
int2 -> int8                0x1=1 0x2=-2 0x3=-1

# -- one rounding, of the exact value
double -> bfloat16          1.0039062500009095=1.0078125 1.00390625=1 -1.0039062500009095=-1.0078125
string -> bfloat16          1.0039062500009094947017729282379150390625=1.0078125
double -> float16           1.0004882812490905=1 1.00048828125=1 1.0004882812509095=1.0009765625
double -> float             1.00000005960464477539=1 1.0000000596046450=1.0000001192092896
int64 -> bfloat16           16842753=16908288 16973823=16908288 16973825=17039360
int64 -> float              16777217=16777216 9007199791611905=9007200328482816
int64 -> double             9007199254740993=9007199254740992 9340351261291575=9340351261291576
uint64 -> float             9223372586610589697=0x5f000001 9223372586610589696=0x5f000000
uint64 -> double            18446744073709551615=18446744073709551616
string -> float             1.00000017881393432617187499=1.0000001192092896
string -> float             1.00000005960464477539062501=1.0000001192092896
string -> double            1.00000000000000011102230246251565404=1
string -> double            1.000000000000000111022302462515654043=1.0000000000000002

# -- too large: judged after rounding
double -> float16           65504=65504 65519.99=65504 65520=inf -65520=-inf inf=inf -inf=-inf
double -> float             3.4028235677973366e+38=inf 3.4028235677973362e+38=0x7f7fffff
float -> bfloat16           0x7f7fffff=inf 0x7f7f7fff=0x7f7f 0x7f7f8000=inf
int32 -> float16            65519=65504 65520=inf -65520=-inf
uint16 -> float16           65535=inf

float -> float8e4m3fn               464=448 464.01=448 1e6=448 480=448 -1e6=-448 inf=448 -inf=-448
float -> float8e4m3fn[saturate=0]   464=448 464.01=0x7f 1e6=0x7f 480=0x7f -1e6=0xff inf=0x7f
float -> float8e4m3fn[saturate=0]   -inf=0xff
float -> float8e4m3fn               nan=0x7f -nan=0xff -0=0x80 -1e-30=0x80 4.25=4 4.75=5
float -> float8e4m3fn[saturate=0]   nan=0x7f -nan=0xff -0=0x80 -1e-30=0x80 448=448
float -> float8e5m2                 61439=57344 61440=57344 inf=57344 -inf=-57344
float -> float8e5m2[saturate=0]     61439=57344 61440=inf inf=inf -inf=-inf
float -> float8e5m2                 nan=0x7e -nan=0xfe 0x7f800001=0x7e 0x7fffffff=0x7e -0=0x80
float -> float8e5m2[saturate=0]     nan=0x7e -nan=0xfe 0xffffffff=0xfe -1e-30=0x80
float -> float8e4m3fnuz             1e6=240 inf=240 -inf=-240 nan=0x80 -nan=0x80 -0=0x00 -1e-30=0x00
float -> float8e4m3fnuz[saturate=0] 1e6=0x80 inf=0x80 -inf=0x80 nan=0x80 -0=0x00 247.9=240 248=0x80
float -> float8e5m2fnuz             1e6=57344 inf=57344 -inf=-57344 nan=0x80 -nan=0x80 -0=0x00
float -> float8e5m2fnuz[saturate=0] 1e6=0x80 inf=0x80 -inf=0x80 nan=0x80 -1e-30=0x00 61440=0x80
float -> float4e2m1                 7=6 1e6=6 inf=6 -inf=-6 nan=0x8 -nan=0x8 -0=0x8 0.48=0.5
float -> float4e2m1                 -0.25=0x8
float -> float4e2m1                 0.25=0 0.75=1 1.25=1 1.75=2 2.5=2 3.5=4 5=4 5.01=6
float -> float6e2m3                 8=7.5 inf=7.5 -inf=-7.5 nan=0x20 -nan=0x20 -0=0x20 -1e-9=0x20
float -> float6e3m2                 30=28 inf=28 -inf=-28 nan=0x20 -nan=0x20 -0=0x20 -1e-9=0x20

# -- NaN bits
float -> float16            0x7fc00000=0x7e00 0xffc00000=0xfe00 0x7f800001=0x7e00 0xff802000=0xfe01
float -> float16            0x7fffffff=0x7fff 0x7fa01fff=0x7f00
float -> double             0x7f800001=0x7ff8000020000000 0xffc12345=0xfff82468a0000000
double -> float             0x7ff0000000000001=0x7fc00000 0xfff8000020000000=0xffc00001
float16 -> float            0x7c01=0x7fc02000 0xfe00=0xffc00000 0xfd55=0xffeaa000
bfloat16 -> float           0x7f81=0x7fc10000 0xffff=0xffff0000
bfloat16 -> float16         0x7f81=0x7e08 0xffff=0xfff8
float8e5m2 -> float16       0x7d=0x7f00 0x7e=0x7e00 0xff=0xff00
float8e4m3fn -> float       0x7f=0x7fc00000 0xff=0xffc00000
float8e4m3fnuz -> float     0x80=0xffc00000
float8e4m3fnuz -> float16   0x80=0xfe00
float8e5m2fnuz -> float     0x80=0xffc00000
float8e5m2fnuz -> float16   0x80=0xfe00
float8e8m0 -> float         0xff=0x7fc00000 0x00=0x00400000
string -> float             nan=0x7fc00000 -nan=0xffc00000 NaN=0x7fc00000
string -> float16           nan=0x7e00 -NAN=0xfe00

# -- E8M0: powers of two
float -> float8e8m0                                  nan=0xff -1=0xff -1e-45=0xff -inf=0xff 0=0x00
float -> float8e8m0                                  -0=0x00
float -> float8e8m0[saturate=0]                      nan=0xff -1=0xff -1e-45=0xff -inf=0xff 0=0xff
float -> float8e8m0[saturate=0]                      -0=0xff
float -> float8e8m0                                  1e-45=0x00 1e-40=0x00 0x00400000=0x00
float -> float8e8m0                                  0x00400001=0x01
float -> float8e8m0[saturate=0]                      1e-45=0xff 0x003fffff=0xff 0x00400000=0x00
float -> float8e8m0                                  inf=0xfe 0x7f000000=0xfe 0x7f000001=0xfe 1.25=2
float -> float8e8m0                                  1=1
float -> float8e8m0[saturate=0]                      inf=0xff 0x7f000000=0xfe 0x7f000001=0xff 5=8
float -> float8e8m0[round_mode=down]                 1.25=1 1.5=1 3=2 6=4 5=4 inf=0xfe
float -> float8e8m0[round_mode=down]                 0x00400001=0x00
float -> float8e8m0[round_mode=nearest]              1.25=1 1.5=2 3=4 6=8 5=4 0x00600000=0x01
float -> float8e8m0[round_mode=nearest]              0x005fffff=0x00
float -> float8e8m0[saturate=0,round_mode=nearest]   0=0xff inf=0xff 1e-40=0xff 1.5=2
float -> float8e8m0[saturate=0,round_mode=nearest]   0x7f000001=0xff
double -> float8e8m0                                 1.0000000000009095=2 5.877471754116783e-39=0x01
double -> float8e8m0                                 1e300=0xfe
double -> float8e8m0[round_mode=nearest]             1.4999999999990905=1
int64 -> float8e8m0                                  16777217=33554432
int64 -> float8e8m0                                  9007199254740993=18014398509481984

# -- to integers
int16 -> int8               200=-56 -129=127
int64 -> int32              4294967301=5 9223372036854775807=-1 2147483648=-2147483648
int8 -> int4                -9=7
int4 -> uint4               -1=15
int4 -> uint64              -8=18446744073709551608
uint64 -> int64             18446744073709551615=-1
float -> int4               2.5=2 1.6=2 -2.5=-2 1.5=2 -1.5=-2 0.5=0 -0.5=0 8=-8 -9=7 nan=0 inf=0
float -> int4               -inf=0 3e9=0
double -> int4              2147483647.4999=-1 2147483647.5=0 0.49999999999999994=0
double -> int4              -0.5000000000000001=-1
float -> uint4              15.49=15 14.5=14 15.5=0 -1=15
float -> int2               -3=1 0.5=0 0.51=1 -1.5=-2
float -> uint2              1.5=2 2.5=2 2.51=3 4=0
float -> uint8              -1.5=255 -2=254 255.9=255 256=0 nan=0 inf=0 -0.5=0
float -> int8               300.7=44 12.7=12 -12.7=-12 nan=0 inf=0 -inf=0 3e9=0 2147483520=-128
double -> int8              2147483647.9=-1 2147483648=0 -2147483648.9=0 -2147483649=0
double -> uint16            65537=1 -1=65535 4294967295=0
double -> int32             5e9=-2147483648 -5e9=-2147483648 2147483647.5=2147483647
double -> int32             2147483648=-2147483648
float -> int32              nan=-2147483648 inf=-2147483648 -inf=-2147483648 -1.9=-1
float -> uint32             -1=4294967295 -1.9=4294967295 -0.9=0 4294967040=4294967040 4294967296=0
float -> uint32             5e9=705032704
float -> uint32             nan=0 inf=0 -inf=0 9223372036854775808=0 -9223372036854775808=0
double -> int64             2251799813685249.5=2251799813685249
double -> int64             9223372036854775808=-9223372036854775808
double -> int64             nan=-9223372036854775808 inf=-9223372036854775808
double -> int64             -1e30=-9223372036854775808
double -> uint64            -1=18446744073709551615 1e19=10000000000000000000
double -> uint64            -9223372036854775808=9223372036854775808
double -> uint64            18446744073709551616=0 inf=0 1e30=0 nan=9223372036854775808
double -> uint64            -inf=9223372036854775808
double -> uint64            -1e30=9223372036854775808 -9223372036854777856=9223372036854775808

# -- to bool and from it
float -> bool               0=0 -0=0 nan=1 1e-45=1 256=1 inf=1
int64 -> bool               0=0 2=1 256=1 4294967296=1 -4=1
float8e4m3fn -> bool        0x80=0 0x7f=1 0x01=1
float8e5m2 -> bool          0x80=0 0x00=0 0x7d=1
float8e4m3fnuz -> bool      0x80=1 0x00=0
float8e5m2fnuz -> bool      0x80=1 0x00=0
float8e8m0 -> bool          0x00=1 0xff=1
float4e2m1 -> bool          0x8=0 0x1=1
float6e2m3 -> bool          0x20=0 0x21=1
bool -> float               0=0 1=1
bool -> int4                0=0 1=1
bool -> float8e8m0          0=0x00 1=1

# -- to strings
float -> string             0.2961402=0.2961402 4=4 -0=-0 123456789=123456790 16777216=16777216
float -> string             65536=65536
float -> string             1e16=1e+16 1e-5=1e-05 nan=NaN -nan=NaN inf=INF -inf=-INF
float -> string             3.4028235e38=3.4028235e+38
double -> string            0.1=0.1 1e15=1000000000000000 9007199254740993=9007199254740992
double -> string            5e-324=5e-324
float16 -> string           65504=65500 0x2e66=0.1 0x0001=6e-08
bfloat16 -> string          0x3dcd=0.1 256=256 0x7f7f=3.39e+38
float8e4m3fn -> string      0x01=0.001953125 0x7f=NaN 448=448
float8e5m2 -> string        0x7c=INF 0xfc=-INF 0x80=-0
float8e8m0 -> string        0x00=5.877471754111438e-39 0xff=NaN 0xfe=1.7014118346046923e+38
int64 -> string             -9223372036854775808=-9223372036854775808 0=0
uint64 -> string            18446744073709551615=18446744073709551615
int4 -> string              -8=-8
bool -> string              0=0 1=1

# -- from strings
string -> int32             3.7=3 1e3=1000 -3.9=-3 nan=-2147483648 4294967301=-2147483648
string -> int32             1e999999999=-2147483648
string -> uint8             -3=253 3e-1=0 300=44
string -> int4              2.5=2 2.50000000000000000000000001=3 -1=-1
string -> int64             9223372036854775807=9223372036854775807
string -> int64             9007199254740993=9007199254740993
string -> uint64            18446744073709551615=18446744073709551615 18446744073709551616=0
string -> uint64            12345678901234567890=12345678901234567890
string -> bool              0=0 -0.0=0 0e5=0 1e-400=1 nan=1 -inf=1 2=1
string -> float             inf=inf -Infinity=-inf +INF=inf 1e999999999=inf -1e-999999999=-0 .5=0.5
string -> float             5.=5 +1E+2=100
string -> float8e4m3fn      1e6=448 nan=0x7f -nan=0xff
string -> float8e8m0        -1e-999=0xff 1e-999=0x00 1.00000000000000000000000000001=2 -0=0x00
"""

_LINE = re.compile(r"(\w+) -> (\w+)(?:\[(.*)\])?\s+(\S.*)")


class Points(NamedTuple):
    """Source elements of one type, and the elements that they become."""

    src: str
    mode: Mode
    sources: list[int | str]
    results: list[int | str]
    texts: list[str]


def element(text: str, name: str) -> int | str:
    """The element of type ``name`` that ``text`` stands for."""
    if name == "string":
        return text
    if text.startswith("0x"):
        return int(text, 16)
    code = exact.cast(text, "string", name, saturate=False)
    number = exact.decode(int(code), name)
    if number.kind == "finite" and name not in ("float", "double"):
        value = -number.magnitude if number.negative else number.magnitude
        if abs(value - Fraction(text)) > abs(value) / 100:
            raise ValueError(f"{text} is no {name}")
    return code


def _points(line: str) -> Points:
    match = _LINE.fullmatch(line)
    if match is None:
        raise ValueError(f"not a line of points: {line!r}")
    src, dst, options, points = match.groups()
    given = dict(option.split("=") for option in options.split(",")) if options else {}
    mode = Mode(dst, given.get("saturate") != "0", given.get("round_mode", "up"))
    texts = points.split()
    pairs = [text.split("=") for text in texts]
    return Points(
        src,
        mode,
        [element(source, src) for source, _ in pairs],
        [element(result, dst) for _, result in pairs],
        texts,
    )


POINTS = tuple(_points(line) for line in _TABLE.splitlines() if line and not line.startswith("#"))
