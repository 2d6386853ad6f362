"""``python -m core.compiled``: compile every loop, unless that was done before."""

import core.compiled.draws
import core.compiled.nodes
import core.compiled.other_classes
import core.compiled.resamples
import core.compiled.rows
import core.compiled.sorting
import core.compiled.sums  # noqa: F401  compiles for the types that it names
