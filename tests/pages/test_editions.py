"""Each page speaks in the edition that is switched on, and not in the other."""

import pytest

from tests.pages.seen import fine, opened, said

LABELLED = ("button", "expander", "selectbox", "slider", "toggle")
# A page, its link, what it says in plain words alone, and what in the full view alone
PAGES = (
    ("library", {}, ["whether its certainty can be trusted"], ["Drop logits or probabilities"]),
    ("evaluate", {}, ["Choose a trained model"], ["We load your weights safely"]),
    (
        "reliability",
        {"run": "cifar10-ce"},
        ["This model is more sure than it should be.", "What this does not say"],
        ["Over-confident by", "Reliability diagram", "Gap in each bin"],
    ),
    (
        "posthoc",
        {"run": "digits-overconfident"},
        ["Correction", "Off by, points on average"],
        ["takes the calibration error from", "Temperature and γ together", "Search"],
    ),
    (
        "ood",
        {"run": "cifar10-ce"},
        ["What the alarm flags", "What helps"],
        ["AUROC", "Runs, sets and scores", "corruption by severity", "More numbers, and"],
    ),
    (
        "ood",
        {"run": "digits-fair"},
        ["No unfamiliar pictures", "damaged pictures or a folder"],
        ["No out-of-distribution images", "corrupted images or a folder"],
    ),
    (
        "compare",
        {"runs": "digits-fair,digits-overconfident"},
        ["looks off by", "Off by, points on average"],
        ["has the smaller ECE", "From reference, points", "Reliability on common bins"],
    ),
    (
        "human",
        {"run": "digits-crowd"},
        ["Same order", "Could it be made less sure?"],
        ["Soft NLL", "TVD", "Temperature on votes and on majority labels"],
    ),
    (
        "human",
        {"run": "digits-fair"},
        ["answers for these pictures"],
        ["answers for these images"],
    ),
    (
        "xray",
        {"run": "phantom-hospital", "show": "findings"},
        ["A small spot (Nodule)", "is expected too often"],
        ["AUROC, mean of 4", "is overestimated", "Fit temperatures"],
    ),
    (
        "xray",
        {"run": "phantom-hospital", "show": "finding"},
        ["a small spot (Nodule)", "This is not the patient’s risk."],
        ["Overestimates “Nodule” by", "Decision curve", "Subgroups"],
    ),
    ("train", {}, ["Let a small program learn", "Teach it digits"], ["Batch norm over devices"]),
    (
        "gamma",
        {},
        ["Round of training", "Group", "the model was pushed hardest"],
        ["Largest γ", "Bin by bin", "Compare with", "The update here", "Import a history"],
    ),
    (
        "published",
        {},
        ["After one correction", "ways of training"],
        ["After temperature scaling", "Hyper-parameters in the papers", "Train a table or a row"],
    ),
    (
        "theory",
        {},
        ["At strength 2, focal training", "Theory · one setting", "Glossary"],
        ["With γ at 2", "Theory · the focal calibration map", "Closest temperature"],
    ),
)  # fmt: skip


@pytest.mark.parametrize(
    ("script", "link", "plain", "technical"), PAGES, ids=[script for script, *_ in PAGES]
)
def test_a_page_speaks_in_the_edition_that_is_switched_on(home, script, link, plain, technical):
    def words(switch):
        page = fine(opened(script, **link, plain=switch))
        return "\n".join(
            [said(page), *(one.label for kind in LABELLED for one in getattr(page, kind))]
        )

    in_plain, in_full = words("true"), words("false")
    assert [phrase for phrase in plain if phrase not in in_plain or phrase in in_full] == []
    assert [phrase for phrase in technical if phrase not in in_full or phrase in in_plain] == []


@pytest.mark.parametrize(("switch", "edition"), [("true", "plain"), ("false", "technical")])
def test_a_report_is_offered_in_the_edition_that_is_switched_on(home, switch, edition):
    page = fine(opened("report", run="digits-fair", plain=switch))
    (offered,) = [one for one in page.segmented_control if one.key == "widget.edition"]
    assert offered.value == edition
