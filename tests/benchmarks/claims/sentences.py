"""Where each sentence is tested.

Every template that claims more than it counted: what is said, where it is made, by which rule it
is said, and the row of this page that holds its error rate. Sentences that only describe the rows
at hand (averages, counts, point estimates with their interval beside them, what a paper prints,
what follows from a formula) claim nothing beyond them and are not listed. The last lines are
those without a row of their own, with the reason.
"""

import inspect
from collections.abc import Iterator
from importlib import import_module
from typing import NamedTuple

EQUAL_RUNS, CORRECTIONS = "Equal runs, called different", "Corrections"
PEOPLE = "Human truth"
OOD, TRAINING, CLINICAL = "Out of distribution", "Training and guessing", "Clinical numbers"
VERDICTS, DECISIONS = "Verdicts, and the cells that pages name", "The decision curve"
PAIRED = "the paired interval, divided among the runs compared (Bonferroni), leaves 0 out"
EVERY = "the interval of any two runs leaves 0 out (max-T over all pairs)"
PAIRS = "Several runs, any pair"
SINGLE = "the paired interval leaves 0 out"
JOINT = "the joint test, 5 %"


class Claimed(NamedTuple):
    """A template, and where its error rate stands.

    Attributes
    ----------
    said : str
        As it stands in the source.
    page : str
        Where it is read.
    where : str
        Module and function, or constant.
    rule : str
        By which it is said.
    section, row : str
        Of this page: how the title of the section begins, and the claim; both empty where none.
    """

    said: str
    page: str
    where: str
    rule: str
    section: str = ""
    row: str = ""


CLAIMED = (
    Claimed(
        "_capital(size)",
        "Reliability",
        "core.screens.kit.sentences:_direction_parts",
        JOINT,
        VERDICTS,
        "a verdict that something is off",
    ),
    Claimed(
        "Mixed{_for(event)}: {",
        "Reliability, audit",
        "core.metrics.verdict:_both_ends",
        f"{JOINT}; bins of both signs, each corrected for all bins",
        VERDICTS,
        '"mixed", with both ends named',
    ),
    Claimed(
        "too_extreme",
        "Reliability",
        "core.screens.kit.sentences:PLAIN_ANSWERS",
        f"{JOINT}, by its slope",
        VERDICTS,
        "a verdict that something is off",
    ),
    Claimed(
        "Sound{_for(event)}: ",
        "Reliability, audit",
        "core.metrics.verdict:_within_chance",
        "the test finds nothing, would have found a material error 95 times in 100, and rules out "
        "a mean error that matters (5 %)",
        VERDICTS,
        '"sound"',
    ),
    Claimed(
        "Off by less than",
        "Reliability, audit",
        "core.metrics.verdict:_small",
        f"{JOINT}; two one-sided tests of gap and slope, each 5 %, and of every mean error",
        VERDICTS,
        "off by less than matters",
    ),
    Claimed(
        "There, answers “{",
        "Reliability, audit",
        "core.metrics.verdict:costly_class_sentence",
        f"{JOINT}; one class alone is off in the bin (exact, Bonferroni over its classes) and "
        "holds seven tenths of its gap, the others are not off at 5 % and differ from it (z-test)",
    ),
    Claimed(
        "brings the error {",
        "Post-hoc",
        "core.screens.posthoc.words:mended",
        "the intervals before and after do not overlap, widened to all labels or classes by all "
        "methods (Bonferroni); a test holds that equal errors part in at most 5 of 100 sets",
    ),
    Claimed(
        "No error beyond chance",
        "Reliability, audit",
        "core.metrics.verdict:_within_chance",
        "the test finds nothing, and its power is 0.5 to 0.95",
        VERDICTS,
        "a verdict that something is off",
    ),
    Claimed(
        "the other classes do",
        "Reliability",
        "core.screens.kit.sentences:MIXED",
        f"{JOINT}, by its classes",
        VERDICTS,
        "a verdict that something is off",
    ),
    Claimed(
        "By class, furthest off",
        "Reliability",
        "core.metrics.verdict:furthest_words",
        f"{JOINT}, and a class beyond chance that the mean does not tell of",
        VERDICTS,
        "a verdict names a class",
    ),
    Claimed(
        "Mixed by class",
        "Reliability",
        "core.screens.kit.sentences:_mixed_parts",
        f"{JOINT}, and classes beyond chance on either side",
        VERDICTS,
        "a verdict names a class",
    ),
    Claimed(
        "alone could be chance.",
        "Reliability, audit",
        "core.metrics.verdict:which_test",
        f"{JOINT}, by gap or slope, and an ECE within its noise floor",
        VERDICTS,
        "a verdict that something is off",
    ),
    Claimed(
        "ALONE",
        "Reliability",
        "core.screens.kit.sentences:_alone",
        "the interval of the gap, where the joint test finds nothing",
        VERDICTS,
        "an interval of the gap that leaves 0 out",
    ),
    Claimed(
        "This shows most",
        "Reliability, plain words",
        "core.screens.reliability.plain:plain_view",
        "the verdict detects, and an exact interval divided among the groups",
        VERDICTS,
        "plain words name a group of answers",
    ),
    Claimed(
        "coloured where p is at most",
        "Reliability, classes",
        "core.screens.reliability.classes:class_card",
        f"{JOINT}, and an exact test of each class, Bonferroni",
        VERDICTS,
        "a class is coloured",
    ),
    Claimed(
        "corrected for looking at",
        "Reliability, X-ray and audit, many labels",
        "core.metrics.macro:_verdict",
        "the joint test of each label, Holm",
        VERDICTS,
        "a finding is called off, all together",
    ),
    Claimed(
        "it overstates here",
        "Clinic, plain words; X-ray",
        "core.screens.xray.bands:verdict_words",
        "an exact interval divided among the bands",
        VERDICTS,
        "plain words name a band of scores",
    ),
    Claimed(
        "has the {more} {called}",
        "Compare",
        "core.screens.kit.differences:_two",
        SINGLE,
        EQUAL_RUNS,
        "two runs are ranked by ece",
    ),
    Claimed(
        "is worse{than} by {size}",
        "Compare",
        "core.screens.kit.differences:_many",
        EVERY,
        PAIRS,
        "the worse of three is told by ece",
    ),
    Claimed(
        "beyond chance",
        "Compare, table",
        "core.screens.compare.view:_forest",
        EVERY,
        EQUAL_RUNS,
        "a difference of ece",
    ),
    Claimed(
        "is closer to the truth, beyond chance.",
        "Compare, plain words",
        "core.screens.kit.differences:plain_sentence",
        EVERY,
        PAIRS,
        "the worse of three is told by ece",
    ),
    Claimed(
        "takes the calibration error",
        "Post-hoc",
        "core.screens.posthoc.words:sentence",
        PAIRED,
        CORRECTIONS,
        "a correction that does not help is said to",
    ),
    Claimed(
        "goes lower",
        "Post-hoc",
        "core.screens.posthoc.words:sentence",
        "the paired interval to the best correction, divided among them, leaves 0 out",
        CORRECTIONS,
        "corrections ranked the wrong way round",
    ),
    Claimed(
        "'raises', 'raise'",
        "Post-hoc",
        "core.screens.posthoc.words:_none_helps",
        PAIRED,
        CORRECTIONS,
        "corrections ranked the wrong way round",
    ),
    Claimed(
        "beyond chance.",
        "Post-hoc, plain words",
        "core.screens.posthoc.words:plain_sentence",
        PAIRED,
        CORRECTIONS,
        "… in plain words",
    ),
    Claimed(
        "none is calibrated by its training alone",
        "Post-hoc, several runs",
        "core.screens.posthoc.view:innate_summary",
        "every T is off 1 by a tenth, and every temperature lowers the ECE beyond chance",
        CORRECTIONS,
        "“none is calibrated by its training”",
    ),
    Claimed(
        " the alarm that flags ",
        "Out of distribution",
        "core.screens.ood.words:sentence",
        "the share itself; its interval stands beside it",
        OOD,
        "interval of fpr95_in",
    ),
    Claimed(
        "it is more alarmed by the unfamiliar one",
        "Out of distribution",
        "core.screens.ood.words:reading_words",
        "the AUROC, rounded as its interval allows",
        OOD,
        "interval of auroc",
    ),
    Claimed(
        '"tie" if tie',
        "Out of distribution, runs",
        "core.screens.ood.tables:rows",
        "DeLong's paired interval leaves 0 out",
        OOD,
        "a difference of auroc that is no tie",
    ),
    Claimed(
        "points {more} than it should",
        "Training dynamics",
        "core.screens.gamma.words:gap_words",
        "the binomial band, divided among the bins",
        TRAINING,
        "the bin with the largest γ is off",
    ),
    Claimed(
        "There it was right ",
        "Training dynamics, plain words",
        "core.screens.gamma.words:plain_sentence",
        "the binomial band, divided among the bins",
        TRAINING,
        "… in plain words",
    ),
    Claimed(
        "self.low <= self.chance",
        "Evaluate, trial",
        "core.screens.evaluate:ModelTrial",
        "Wilson's interval lies above guessing",
        TRAINING,
        "better than guessing",
    ),
    Claimed(
        "That is no better than guessing",
        "Evaluate",
        "core.screens.evaluate:judged",
        "the interval of the accuracy or AUROC holds guessing",
        TRAINING,
        "better than guessing",
    ),
    Claimed(
        "Following the model is better, beyond chance",
        "Clinic, decision curve",
        "core.screens.xray.use:benefit_words",
        "a band simultaneous over the thresholds, and 200 events",
        DECISIONS,
        "“better, beyond chance”, of a useless score",
    ),
    Claimed(
        "so better than treating none",
        "Clinic, decision curve, pointer",
        "core.screens.xray.use:_hover_text",
        "the same band, against treating none",
        DECISIONS,
        "the band holds the curve at every threshold",
    ),
    Claimed(
        "Its scores are too extreme",
        "Clinic, finding",
        "core.screens.xray.finding:_spread",
        f"{JOINT}, and the interval of the slope",
        CLINICAL,
        "a finding's scores or curve are off",
    ),
    Claimed(
        "This score is not a probability",
        "Clinic, finding",
        "core.screens.xray.finding:badge",
        f"{JOINT}; in the large, slope or curve off by its interval; ECE above its noise floor",
        CLINICAL,
        "“this score is not a probability”",
    ),
    Claimed(
        "a difference within chance",
        "Clinic, recalibrated",
        "core.screens.xray.finding:_recalibrated",
        SINGLE,
        CLINICAL,
        "a temperature lowers the error of a finding",
    ),
    Claimed(
        "lowers the calibration error beyond chance in",
        "Clinic, temperatures",
        "core.screens.xray.findings:temperature_summary",
        "the paired interval of each finding leaves 0 out",
        CLINICAL,
        "a temperature lowers the error of a finding",
    ),
    Claimed(
        "detected=i in detected",
        "Clinic, subgroups",
        "core.screens.xray.use:group_table",
        "the joint test of each group, Holm, and the cell's interval",
        CLINICAL,
        "a cell of the subgroups is strong",
    ),
    Claimed(
        "degrees of freedom (films not fitted on), p",
        "Clinic, on request",
        "core.screens.xray.use:hosmer_words",
        "chi-square; not for rows that belong together",
        CLINICAL,
        "Hosmer-Lemeshow, p under 0.05",
    ),
    Claimed(
        "beyond what every map beside it reaches",
        "X-ray, trust",
        "core.screens.xray.saliency:pointing_text",
        "Wilson's interval lies above that of every other map",
        CLINICAL,
        "a map points beyond chance",
    ),
    Claimed(
        "of a perfect model about",
        "Reliability, dots",
        "core.screens.reliability.view:reliability_view",
        "each dot by its own band; how many of a perfect model lie outside stands beside them",
    ),
    Claimed(
        "outside the band of a perfect model",
        "Reliability, in words",
        "core.screens.kit.cards:diagram_alt",
        "as the dots: a count of bins, each by its own band",
    ),
    Claimed(
        "coloured on findings that are off beyond chance",
        "Clinic, small diagrams",
        "core.screens.xray.findings:explanation",
        "the joint test of each finding, Holm; then each dot by its own band",
    ),
    Claimed(
        "calibrated by training, as far as a temperature can tell",
        "Post-hoc, several runs",
        "core.screens.posthoc.view:innate_summary",
        "T is within a tenth of 1: a tolerance, not a test",
    ),
    Claimed(
        "More sure than people by",
        "Reliability, human truth",
        "core.screens.reliability.human:human_sentence",
        "the interval of confidence minus the share of people who agree leaves 0 out",
        PEOPLE,
        '"more sure than people", or less sure',
    ),
    Claimed(
        " would agree with an answer",
        "Reliability, human truth",
        "core.screens.reliability.human:agreement_words",
        "the share of the fullest bin, with its interval",
        PEOPLE,
        "interval of the share who agree, fullest bin",
    ),
    Claimed(
        "falls by",
        "Reliability, human truth",
        "core.screens.reliability.human:fits_words",
        f"{PAIRED}; rows of ECE under {EQUAL_RUNS}",
    ),
    Claimed(
        "Intervals that exclude ",
        "Reliability, human truth, in words",
        "core.screens.reliability.human:_card",
        "a count of groups of rows, each by its own interval",
        PEOPLE,
        "interval of the gap, most disputed rows",
    ),
    Claimed(
        "rises",
        "Post-hoc",
        "core.screens.posthoc.words:_cost",
        f"{PAIRED}; rows of NLL and Brier score under {EQUAL_RUNS}",
    ),
    Claimed(
        "at or below chance",
        "every page, notice",
        "core.metrics.notices:notices",
        "a count of right answers; asks for the class order",
    ),
)


def source(claimed: Claimed) -> str:
    """Return the source of the function, or the words of the constant, that holds a template."""
    module, _, name = claimed.where.partition(":")
    there = getattr(import_module(module), name)
    made = inspect.isfunction(there) or inspect.isclass(there)
    return inspect.getsource(there) if made else repr(there)


def lines() -> Iterator[str]:
    """Yield the table."""
    yield "| said | read on | made by | said where | section: row |"
    yield "|---|---|---|---|---|"
    for one in CLAIMED:
        place = f"{one.section}: {one.row}" if one.section else "no row"
        said = one.said.replace("|", "\\|")
        yield f"| `{said}` | {one.page} | `{one.where}` | {one.rule} | {place} |"
