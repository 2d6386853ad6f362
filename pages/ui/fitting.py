"""Computing what the post-hoc page needs: a method on a run is a step."""

from collections.abc import Sequence

from core.calibrators.posthoc import EvaluatedMethod, evaluate
from core.views.posthoc_words import NAMES
from pages.ui import cache_posthoc, steps
from pages.ui.cache_posthoc import PosthocStep
from pages.ui.escape import esc

KIND: steps.StepKind[PosthocStep, EvaluatedMethod] = steps.StepKind(
    name=lambda step: f"{NAMES[step.method_choice.method]}, {esc(step.run.name)}",
    known=lambda step: cache_posthoc.results(step.run).get(step),
    keep=lambda step, result: cache_posthoc.results(step.run).put(step, result),
    heavy=cache_posthoc.heavy,
    call=lambda step: (evaluate, cache_posthoc.call(step)),
)


def computed(posthoc_steps: Sequence[PosthocStep]) -> dict[PosthocStep, EvaluatedMethod]:
    """Return what is known of these steps; what is not is under way, or stopped, and said so."""
    return steps.computed(posthoc_steps, KIND)
