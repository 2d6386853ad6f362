"""What Human votes says in its states, held against files as `test_snapshots.py` does."""

from dataclasses import replace

import numpy as np
import pytest

from core.metrics.human import NOT_COUNTED, HumanAudit, HumanScore, VoteBin, VoteDisagreement
from core.metrics.paired import Difference
from core.metrics.records import Gap
from core.predictions import Predictions, ScoreKind, Task, Votes
from core.screens.kit.words import speaking_of
from core.screens.reliability.human import (
    PLAIN,
    TECHNICAL,
    fits_words,
    human_sentence,
    human_view,
    opposite_words,
)
from core.studies.human import FarRows, FittedOn, HumanFits, HumanStudy
from tests.core.screens.test_snapshots import EDITIONS
from tests.written import written


def scored(value, low, high, floor, reason=""):
    return HumanScore(value=value, low=low, high=high, floor=floor, reason=reason)


GROUPS = VoteDisagreement(
    entropy=np.array([0.0, 0.31, 0.74, 1.02]),
    count=np.array([90, 110, 120, 80]),
    confidence=np.array([0.97, 0.92, 0.86, 0.7]),
    agreement=np.array([0.99, 0.86, 0.72, 0.6]),
    gap=np.array([-0.02, 0.06, 0.14, 0.1]),
    low=np.array([-0.03, 0.03, 0.1, 0.04]),
    high=np.array([-0.01, 0.09, 0.18, 0.16]),
    known=np.array([-0.015, 0.005, 0.013, 0.02]),
)
AUDIT = HumanAudit(
    name="votes.csv", n=400, n_rows=430, n_classes=3, level=0.95, least=21.0, mean=24.6, most=27.0,
    tied=4, confidence=0.866, agreement=0.794, direction=Gap(0.072, 0.051, 0.093),
    scores={
        "tvd": scored(0.183, 0.171, 0.195, 0.061), "ece_votes": scored(0.084, 0.063, 0.105, 0.017),
        "entropy_gap_signed": scored(-0.342, -0.381, -0.303, 0.022),
        "rank": scored(0.723, 0.678, 0.767, 0.913), "soft_nll": scored(0.934, 0.871, 0.997, 0.688),
    },
    known_nll=0.712, disagreement=GROUPS,
    bins=(
        VoteBin(count=170, confidence=0.75, agreement=0.7, low=0.66, high=0.74),
        VoteBin(count=230, confidence=0.952, agreement=0.863, low=0.841, high=0.885),
    ),
)  # fmt: skip


def changed(metric, value, half):
    return Difference(metric, value, value - half, value + half, 0.95, 200)


READ = FittedOn("", "", {}, {"ece": 0.062, "ece_votes": 0.081, "tvd": 0.18, "soft_nll": 0.93}, {})
ON_LABELS = FittedOn(
    "ts", "labels", {"temperature": 0.92},
    {"ece": 0.057, "ece_votes": 0.097, "tvd": 0.191, "soft_nll": None},
    {
        "ece": changed("ece", -0.005, 0.012), "ece_votes": changed("ece_votes", 0.016, 0.009),
        "tvd": changed("tvd", 0.011, 0.004),
        "soft_nll": Difference.undefined("soft_nll", 0.95, 199, "infinite"),
    },
)  # fmt: skip
ON_VOTES = FittedOn(
    "ts", "votes", {"temperature": 2.34},
    {"ece": 0.104, "ece_votes": 0.023, "tvd": 0.122, "soft_nll": 0.741},
    {
        "ece": changed("ece", 0.042, 0.013), "ece_votes": changed("ece_votes", -0.058, 0.011),
        "tvd": changed("tvd", -0.058, 0.006), "soft_nll": changed("soft_nll", -0.189, 0.031),
    },
)  # fmt: skip
FOCAL = FittedOn(
    "focal_ts", "votes", {"temperature": 1.87, "gamma": -0.31},
    {"ece": 0.101, "ece_votes": 0.027, "tvd": 0.118, "soft_nll": 0.729},
    {
        "ece": changed("ece", 0.039, 0.014), "ece_votes": changed("ece_votes", -0.054, 0.012),
        "tvd": changed("tvd", -0.062, 0.007), "soft_nll": changed("soft_nll", -0.201, 0.032),
    },
)  # fmt: skip
REFUSED = FittedOn("focal_ts", "labels", {}, {}, {}, "all labels are alike")
FITS = HumanFits(
    fit_rows=201, test_rows=199, fit_name="test", test_name="test",
    methods=(READ, ON_LABELS, REFUSED, ON_VOTES, FOCAL),
)  # fmt: skip


@pytest.mark.parametrize("edition", EDITIONS)
def test_human(snapshot, edition):
    plain = edition == "plain"
    words = PLAIN if plain else TECHNICAL
    rows = Predictions(
        Task.MULTICLASS, ScoreKind.LOGITS, np.zeros((3, 3)), np.array([0, 1, 2]),
        class_names=("<b>cat", "dog", "sheep"), row_ids=("a", "b", "c"),
        votes=Votes.of("votes.csv", np.array([[19.0, 4, 1], [3, 20, 2], [2, 7, 16]])),
    )  # fmt: skip
    far = FarRows(
        np.array([2, 0]), np.array([0.71, 0.64]), np.array([0.93, 0.88]), np.array([0.28, 0.17]),
        np.array([1, 1]), np.array([2, 0]),
    )  # fmt: skip
    study = HumanStudy(AUDIT, FITS, far)
    parts = ("sentence", "numbers", "figure", "key", "caption")
    folded = ("fits", "fits_file", "heads")  # of the full view
    view = vars(human_view(study, rows, split="test", plain=plain))
    said = {"view": {part: shown for part, shown in view.items() if part not in folded * plain}}
    # As shares, of which nobody knows how many people they are of
    unknown = {"floor": None, "reason": NOT_COUNTED}
    scores = {name: replace(score, **unknown) for name, score in AUDIT.scores.items()}
    scores["soft_nll"] = AUDIT.scores["soft_nll"]
    shares = replace(
        AUDIT, n=430, least=None, mean=None, most=None, tied=0, known_nll=None, scores=scores,
        disagreement=replace(GROUPS, known=np.full(4, np.nan)),
    )  # fmt: skip
    single = replace(AUDIT, n=430, least=1.0, mean=1.0, most=1.0, tied=0)
    for state, audit in {"shares": shares, "one vote": single}.items():
        view = vars(human_view(replace(study, audit=audit), rows, split="val", plain=plain))
        said[state] = {part: view[part] for part in parts}
    gaps = {
        "less sure": Gap(-0.063, -0.082, -0.044), "could be chance": Gap(0.009, -0.011, 0.029),
    }  # fmt: skip
    for state, gap in gaps.items():
        said[state] = human_sentence(replace(AUDIT, direction=gap), plain=plain)
    lone = replace(AUDIT, n=1, least=1.0, mean=1.2, most=2.0)
    said["one row"] = human_sentence(lone, plain=plain)
    refused = HumanFits(
        fit_rows=0, test_rows=0, fit_name="", test_name="test", refusal="12 rows are too few"
    )
    elsewhere = replace(FITS, fit_name="val", methods=(READ, ON_VOTES))
    undefined = Difference.undefined("ece", 0.95, 199, "one group")
    lone = replace(ON_VOTES, differences={**ON_VOTES.differences, "ece": undefined})
    grouped = replace(FITS, methods=(READ, lone))
    states = {"refused": refused, "of another split": elsewhere, "one group": grouped}
    said["fits"] = {state: fits_words(fits, words) for state, fits in states.items()}
    for data in ("20newsgroups", ""):
        with speaking_of(data):
            said["fits"][data or "rows"] = fits_words(FITS, words)
    if not plain:
        more, less = Gap(0.04, 0.03, 0.05), Gap(-0.063, -0.082, -0.044)
        said["opposite"] = [opposite_words(more, less), opposite_words(less, more)]
        assert not opposite_words(more, more)
    assert written(**said) == snapshot
