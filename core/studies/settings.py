"""Settings of trained runs, and which of them differ in their seed alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from core.fields import JsonObject

SEEDS = ("seed", "split_seed")
NO_SETTING = ("name", "data_root", "device", "devices", "kind", "slots", *SEEDS)
Setting = float | str


@dataclass(frozen=True)
class Trained:
    """A run's seed, and every other setting that may move its numbers, by dotted name."""

    seed: int | None
    values: Mapping[str, Setting]


def settings(config: JsonObject | None) -> Trained | None:
    """Return the settings in a training's config; None for a run that was not trained here."""
    if not config or "loss" not in config:
        return None
    seed = config.get("seed")
    return Trained(seed if isinstance(seed, int) else None, dict(_flat(config)))


def _flat(config: Mapping[str, object], above: str = "") -> list[tuple[str, Setting]]:
    """Return the plain values of nested JSON; those that are null are left out."""
    found: list[tuple[str, Setting]] = []
    for key, value in config.items():
        if above == "" and key in NO_SETTING:
            continue
        if isinstance(value, dict):
            found += _flat(value, f"{above}{key}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found.append((above + key, float(value)))
        elif value is not None:
            found.append((above + key, str(value)))
    return found


def seed_groups(runs: Sequence[Trained | None]) -> tuple[tuple[int, ...], ...]:
    """Return the positions of runs that differ in their seed alone, in order of the first.

    A run whose settings are unknown is a group of its own.
    """
    groups: dict[object, list[int]] = {}
    for i, run in enumerate(runs):
        key = i if run is None else tuple(sorted(run.values.items()))
        groups.setdefault(key, []).append(i)
    return tuple(tuple(group) for group in groups.values())


def varied(runs: Sequence[Trained | None]) -> tuple[str, ...]:
    """Return the settings that at least two runs have and in which any differ, in their order."""
    known = [run.values for run in runs if run is not None]
    names = dict.fromkeys(name for values in known for name in values)
    by_name = {name: [values[name] for values in known if name in values] for name in names}
    return tuple(name for name, found in by_name.items() if len(found) > 1 and len(set(found)) > 1)


@dataclass(frozen=True)
class SeedSummary:
    """Mean over seeds and the sample's standard deviation, None of one run; fractions."""

    n: int
    mean: float
    spread: float | None


def summary(values: Sequence[float]) -> SeedSummary:
    """Return mean and standard deviation (n - 1 below the line) of one or more runs."""
    return SeedSummary(len(values), fmean(values), stdev(values) if len(values) > 1 else None)
