"""A small, exact, fast ONNX runtime in Python."""
