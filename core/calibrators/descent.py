"""Smooth convex fits by steps downhill, and what to say when they do not settle; scipy."""

from collections.abc import Callable, Sequence

from scipy.optimize import minimize

from core.arrays import Float


def descend(
    objective: Callable[[Float], tuple[float, Float]],
    start: Float,
    *,
    steps: int,
    bounds: Sequence[tuple[float, float]] | None = None,
) -> tuple[Float, float, str]:
    """Minimise a convex function by L-BFGS-B; never return a point above the start.

    Parameters
    ----------
    objective : callable
        Returns value and gradient.
    start : (P,) float64
        First point, within the bounds.
    steps : int
        At most.
    bounds : P pairs of floats, optional
        Smallest and largest value of each parameter.

    Returns
    -------
    point, value, message : (P,) float64, float, str
        The message is empty where the search settled.
    """
    optimum = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": steps, "maxfun": 2 * steps, "ftol": 1e-13, "gtol": 1e-8, "maxcor": 20},
    )
    message = "" if optimum.success else f"stopped after {optimum.nit} steps before it settled"
    before = objective(start)[0]
    value = float(optimum.fun)
    return (optimum.x, value, message) if value <= before else (start, before, message)
