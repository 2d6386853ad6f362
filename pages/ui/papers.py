"""What a run corresponds to in the papers, by the config it was made with."""

from core.errors import LibraryError
from core.losses.papers import subject
from core.published import PaperSetting
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
        config = open_library().get(run.id).config or {}
        weights = config.get("weights")
        if weights is None:
            return subject(config)
        trained = open_library().get(weights["run"]).config if weights["run"] else None
    except LibraryError:
        return None
    of_training = subject(trained)
    if of_training is None or config["limit"] is not None:
        return None
    return of_training if of_training.dataset == config["data"] else None
