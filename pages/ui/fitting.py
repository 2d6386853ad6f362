"""Computing what the post-hoc page needs: a method on a run is a step."""

from collections.abc import Sequence

from core.calibrators.posthoc import Evaluated, evaluate
from core.views.posthoc_words import NAMES
from pages.ui import cache_posthoc, steps
from pages.ui.cache_posthoc import Step
from pages.ui.escape import esc

KIND: steps.Kind[Step, Evaluated] = steps.Kind(
    name=lambda step: f"{NAMES[step.how.method]}, {esc(step.run.name)}",
    known=lambda step: cache_posthoc.results(step.run).get(step),
    keep=lambda step, found: cache_posthoc.results(step.run).put(step, found),
    heavy=cache_posthoc.heavy,
    call=lambda step: (evaluate, cache_posthoc.call(step)),
)


def computed(wanted: Sequence[Step]) -> dict[Step, Evaluated]:
    """Return what is known of these steps; what is not is under way, or stopped, and said so."""
    return steps.computed(wanted, KIND)
