"""From a typed graph to calls of compiled kernels."""
