"""Embedders: texts in, unit vectors out. `registry.load` is the way in."""
