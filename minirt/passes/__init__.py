"""Checks and rewrites of graphs, a module each."""
