"""The operators, a family a module. :mod:`minirt.ops.registry` says what one is."""
