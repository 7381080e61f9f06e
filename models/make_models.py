"""Write the models of this folder: ``python models/make_models.py``."""

from __future__ import annotations

from pathlib import Path

import onnx
from onnx import TensorProto, helper

HERE = Path(__file__).parent


def float8_round_trip() -> onnx.ModelProto:
    """What float8e4m3fn leaves of a float: its rounding, its largest value 448, its NaN."""
    nodes = [
        helper.make_node(
            "Cast", ["x"], ["codes"], name="quantize", to=TensorProto.FLOAT8E4M3FN, saturate=1
        ),
        helper.make_node("CastLike", ["codes", "x"], ["y"], name="dequantize"),
    ]
    shape = ["batch", "features"]
    graph = helper.make_graph(
        nodes,
        "float8_round_trip",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [
            helper.make_tensor_value_info("codes", TensorProto.FLOAT8E4M3FN, shape),
            helper.make_tensor_value_info("y", TensorProto.FLOAT, shape),
        ],
        doc_string="Rounds float to float8e4m3fn and back.",
    )
    opsets = [helper.make_opsetid("", 24)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=11, producer_name="minirt")


def main() -> None:
    """Check each model and write it beside this file."""
    for build in (float8_round_trip,):
        model = build()
        onnx.checker.check_model(model, full_check=True)
        (HERE / f"{build.__name__}.onnx").write_bytes(model.SerializeToString(deterministic=True))


if __name__ == "__main__":
    main()
