"""Tensors and containers between bytes, the arrays that callers hold and those of kernels."""
