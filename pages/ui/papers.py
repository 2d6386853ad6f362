"""What a run corresponds to in the papers, by the config it was made with."""

from core.errors import LibraryError
from core.losses.papers import subject
from core.published import PaperSetting, compared
from pages.ui import cache
from pages.ui.visitor import open_library


def setting(run: cache.Run) -> PaperSetting | None:
    """Return what the run corresponds to in the papers.

    An evaluation of all images of the data that a training here was made on is one of that
    training; weights of unknown origin, and some of the images, correspond to nothing.
    """
    if run.draft or run.split != "test":
        return None
    try:
        manifest = open_library().get(run.id)
        config = compared(manifest.config, manifest.class_names) or {}
        weights = config.get("weights")
        if weights is None:
            return subject(config)
        trained = open_library().get(weights["run"] or "")
    except LibraryError:
        return None
    of_training = subject(compared(trained.config, trained.class_names))
    if of_training is None or config["limit"] is not None:
        return None
    return of_training if of_training.dataset == config["data"] else None
