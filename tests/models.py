"""Small models for tests, in ONNX's text form."""

from __future__ import annotations

import onnx

import minirt


def model(inputs: str, outputs: str, body: str, *, initializers: str = "", opset: int = 25):
    """A ModelProto: ``model("float[N] x", "float16[N] y", "y = Cast<to=10>(x)")``."""
    inner = f"<{initializers}>" if initializers else ""
    return onnx.parser.parse_model(
        f'<ir_version: 10, opset_import: ["": {opset}]>'
        f"main ({inputs}) => ({outputs}) {inner} {{ {body} }}"
    )


def session(inputs: str, outputs: str, body: str, **options) -> minirt.Session:
    """The same model, loaded."""
    return minirt.load(model(inputs, outputs, body, **options))
