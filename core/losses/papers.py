"""The losses that the papers' rows were trained with, and the rows of a run's config; no torch."""

from collections.abc import Mapping
from typing import Any, Final

from core.errors import UsageError
from core.losses.catalogue import PRESETS, Setting, checked
from core.published import PaperSetting, networks_of, published

Loss = dict[str, Setting]
TEXTS: Final = ("20newsgroups", "sst_binary", "ag_news", "finsen")
OF_TINY_IMAGENET: Final = "resnet50_tiny_imagenet"
PLAIN: Final = ("brier", "flsd_53", "fls_532", "fls_531", "adafocal")  # without settings


def losses_of(method: str, dataset: str, network: str) -> tuple[Loss, ...]:
    """Return the losses that a row of a paper stands for, the one to train with first.

    Parameters
    ----------
    method, dataset, network : str
        As in `PublishedNumber`.

    Returns
    -------
    tuple of dict
        Name and settings, as a config has them; none where the paper does not state them.
    """
    stem, _, last = method.rpartition("_")
    place = f"{dataset}_{network}"
    if method in PLAIN:
        return ({"name": method},)
    if method in ("ce", "ce_wd"):
        return ({"name": "ce"},)
    if method == "ls_0.05":
        return ({"name": "ls", "smoothing": 0.05},)
    if stem == "focal" and last.isdecimal():
        return ({"name": "focal", "gamma": float(last)},)
    if stem == "adafocal_bins":
        return ({"name": "adafocal", "n_bins": int(last)},)
    if method == "fla_532":  # by the text, and by the released code
        return tuple({"name": method, "edges": edges} for edges in ("text", "released"))
    if method == "mmce":
        weight = {"lambda": 8.0 if dataset in TEXTS else 2.0}
        weighted: Loss = {"name": "mmce_weighted", **weight}
        # The released code, which divides twice by the number of pairs, and is what Mukhoti et al.
        # and those who train with their code have.
        return (weighted | {"normalisation": "released"}, weighted, {"name": "mmce", **weight})
    if method == "dual_focal":
        preset = PRESETS["dual_focal"].get(place)
        return ({"name": method, **(preset.settings if preset else {})},)
    if method in ("fcl", "fcl_l1"):
        preset = PRESETS["fcl"].get(place)
        return ({"name": method, **preset.settings},) if preset else ()
    return ()


def subject(config: Mapping[str, Any] | None) -> PaperSetting | None:  # Any: plain JSON
    """Return what a run's config corresponds to in the papers; None where it does to nothing."""
    if config is None:
        return None
    dataset, loss = config.get("data"), config.get("loss")
    if not isinstance(dataset, str) or not isinstance(loss, dict):
        return None
    network = networks_of(dataset).get(config.get("model", ""))
    if network is None:
        return None
    if config["model"] == OF_TINY_IMAGENET and dataset != "tiny_imagenet":
        return None
    try:
        settings = checked(loss)
    except UsageError:  # of another version
        return None
    rows = published(dataset=dataset, model=network)
    methods = tuple(
        method
        for method in dict.fromkeys(row.method for row in rows)
        for of in losses_of(method, dataset, network)
        if of["name"] == loss["name"] and checked(of) == settings
    )
    return PaperSetting(dataset, network, methods) if methods else None
