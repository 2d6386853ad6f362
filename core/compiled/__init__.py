"""Loops that numba compiles: what has to be fast over every logit; numba and numpy only.

Importing a module of this package takes a quarter of a second, so callers do it in the function
that needs it and no page does at its start. Machine code is kept beside the sources, or below the
user's cache folder where those cannot be written (or in NUMBA_CACHE_DIR); ``python -m
core.compiled`` makes it beforehand. It is made anew when its own source file changes: after a
change of `jit`, which it cannot know of, remove the ``.nbi`` files.
"""
