"""The metrics of calibration: pure float64 functions, and the registry that lists them."""

from core.metrics import binning, top_label
from core.metrics.classwise import classwise_ece
from core.metrics.clinical.curve import e50, e90, emax, ici
from core.metrics.clinical.fit import citl, intercept, slope
from core.metrics.clinical.scores import brier_event, brier_skill, spiegelhalter_z
from core.metrics.lipschitz import pgap, smce
from core.metrics.proper import brier, nll
from core.metrics.ranking import auprc, auroc
from core.metrics.records import Metric
from core.metrics.selective import aurc
from core.metrics.smooth import smece
from core.metrics.top_label import Binned

__all__ = ["METRICS"]

UNIT = (0.0, 1.0)
LINE = (float("-inf"), float("inf"))

METRICS: dict[str, Metric] = {
    "accuracy": Metric(
        top_label.accuracy,
        "Accuracy",
        "How often the answer was right.",
        better="higher",
        source="share of right answers",
        in_sentence="accuracy",
        in_points=True,
        compared="shown",
        of="answers",
    ),
    "error": Metric(
        top_label.error,
        "Error",
        "How often the answer was wrong.",
        source="1 - accuracy",
        of="answers",
    ),
    "nll": Metric(
        nll,
        "NLL",
        "How surprised the model was by the true answers, in nats.",
        range=(0.0, float("inf")),
        needs="scores",
        source="mean of -log p(true class), from log-softmax",
        compared="shown",
        of="every class",
    ),
    "brier": Metric(
        brier,
        "Brier",
        "Squared distance between what the model said and what was true, summed over classes.",
        range=(0.0, 2.0),
        needs="scores",
        source="Brier 1950, sum over classes",
        in_sentence="Brier score",
        compared="shown",
        of="every class",
    ),
    "brier_event": Metric(
        brier_event,
        "Brier of the event, (p − y)²",
        "Squared distance between the stated risk and whether the event came, 0 or 1.",
        needs="positive",
        source="Brier 1950, (p - y)^2 as clinical papers print it",
    ),
    "ece": Metric(
        top_label.ece,
        "ECE",
        "On average its stated certainty is off by this much.",
        source="Mukhoti et al. 2020, equation 1",
        in_points=True,
        compared="shown",
        binned=Binned(binning.equal_width_cuts, top_label.weighted_gap, "equal_width"),
    ),
    "ece_answer": Metric(
        top_label.ece_answer,
        "ECE of the answers",
        "On two-class data, how far off its certainty in its answers is on average.",
        needs="scores",
        source="Mukhoti et al. 2020, equation 1, on the answers",
        of="answers, of two classes",
    ),
    "ece_em": Metric(
        top_label.ece_em,
        "Equal-mass ECE",
        "ECE over groups of equal size.",
        source="Mukhoti et al. 2020, equation 3",
        in_sentence="equal-mass ECE",
        in_points=True,
        compared="shown",
        binned=Binned(binning.equal_mass_cuts, top_label.weighted_gap, "equal_mass"),
    ),
    "ada_ece": Metric(
        top_label.ada_ece,
        "AdaECE",
        "The equal-mass error as the released code of the papers computes it.",
        source="Mukhoti et al. 2020, released code",
        in_points=True,
        compared="on request",
        binned=Binned(binning.interpolated_cuts, top_label.weighted_gap, "equal_mass_reference"),
    ),
    "mce": Metric(
        top_label.mce,
        "MCE",
        "How far off it is where it is worst, however few answers lie there.",
        source="Mukhoti et al. 2020, equation 2",
        binned=Binned(
            binning.equal_width_cuts, top_label.largest_gap, "equal_width", unweighted=True
        ),
    ),
    "ace": Metric(
        top_label.ace,
        "ACE",
        "How far off it is on average over ranges of certainty, crowded or not.",
        source="Mukhoti et al. 2020, released code",
        binned=Binned(
            binning.equal_width_cuts, top_label.average_gap, "equal_width", unweighted=True
        ),
        below_gap=True,
    ),
    "rmsce": Metric(
        top_label.rmsce,
        "RMSCE",
        "Like ECE, but large misses weigh more.",
        source="l2 form of Mukhoti et al. 2020, equation 1",
        binned=Binned(binning.equal_width_cuts, top_label.root_mean_square_gap, "equal_width"),
    ),
    "classwise_ece": Metric(
        classwise_ece,
        "Classwise ECE",
        "How far off its stated certainty is for each class in turn, on average.",
        needs="scores",
        source="Kull et al. 2019, mean over classes",
        in_sentence="classwise ECE",
        in_points=True,
        compared="shown",
        of="every class",
        below_gap=True,
    ),
    "ece_debiased": Metric(
        top_label.ece_debiased,
        "Debiased ECE (l2)",
        "The error left after subtracting what chance explains.",
        source="Kumar et al. 2019, p = 2",
        binned=Binned(
            binning.equal_mass_cuts,
            top_label.debiased_gap,
            "equal_mass",
            plug_in=top_label.root_mean_square_gap,
        ),
    ),
    "ece_sweep": Metric(
        top_label.ece_sweep,
        "ECE sweep",
        "ECE over as many groups as let accuracy rise with certainty.",
        source="Roelofs et al. 2021",
        binned=Binned(binning.rank_cuts, top_label.weighted_gap, "sweep", sweeps=True),
    ),
    "ece_debiased_l1": Metric(
        top_label.ece_debiased_l1,
        "Debiased ECE (l1)",
        "ECE over groups of equal size, less what chance adds to it.",
        source="Kumar et al. 2019, p = 1",
        of_print=True,
        binned=Binned(
            binning.equal_mass_cuts,
            top_label.debiased_absolute_gap,
            "equal_mass",
            plug_in=top_label.weighted_gap,
        ),
    ),
    "ece_sweep_ew": Metric(
        top_label.ece_sweep_ew,
        "ECE sweep, equal width",
        "ECE over as many ranges of certainty as let accuracy rise with it.",
        source="Roelofs et al. 2021",
        of_print=True,
        binned=Binned(
            binning.equal_width_cuts, top_label.weighted_gap, "sweep_equal_width", sweeps=True
        ),
    ),
    "smece": Metric(
        smece,
        "smECE",
        "ECE with smooth windows instead of bins.",
        source="Blasiok & Nakkiran 2023",
        in_points=True,
        compared="shown",
    ),
    "smce": Metric(
        smce,
        "smCE",
        "The largest error that a smooth weighting of its certainty reveals.",
        source="Blasiok et al. 2023, by linear program",
    ),
    "pgap": Metric(
        pgap,
        "Post-processing gap",
        "How much squared error a smooth correction of its certainty could take off.",
        source="Blasiok et al. 2023b, squared error",
        below_gap=True,
    ),
    "ks": Metric(
        top_label.ks,
        "KS",
        "The largest error that adds up over a range of certainty.",
        source="Gupta et al. 2021",
    ),
    "s99_share": Metric(
        top_label.s99_share,
        "Share at 99 %",
        "How much of the data it is at least 99 % sure of.",
        better="higher",
        source="Mukhoti et al. 2020, table 6",
        of="answers",
    ),
    "s99_accuracy": Metric(
        top_label.s99_accuracy,
        "Accuracy at 99 %",
        "How often it is right where it is at least 99 % sure.",
        better="higher",
        source="Mukhoti et al. 2020, table 6",
        of="answers",
    ),
    "aurc": Metric(
        aurc,
        "AURC",
        "How often it errs when it may skip the answers it is least sure of.",
        source="Geifman & El-Yaniv 2017",
        of="answers",
    ),
    "auroc": Metric(
        auroc,
        "AUROC",
        "How often a positive scores higher than a negative.",
        better="higher",
        needs="positive",
        source="Hanley & McNeil 1982, ties count one half",
    ),
    "auprc": Metric(
        auprc,
        "Average precision",
        "How many of its alarms are right, averaged over the positives found.",
        better="higher",
        needs="positive",
        source="average precision, step-wise",
    ),
    "citl": Metric(
        citl,
        "Calibration in the large",
        "Whether, overall, more events happen than it states (above 0) or fewer (below).",
        range=LINE,
        better="zero",
        needs="positive",
        source="Cox 1958; intercept with offset logit(p), slope held at 1",
    ),
    "slope": Metric(
        slope,
        "Calibration slope",
        "Below 1 its risks are too extreme, above 1 too moderate.",
        range=LINE,
        better="one",
        needs="positive",
        source="Cox 1958; logistic regression on logit(p), unpenalised",
    ),
    "intercept": Metric(
        intercept,
        "Intercept, with slope",
        "How far off it is where it states one half, once the slope is allowed for.",
        range=LINE,
        better="zero",
        needs="positive",
        source="Cox 1958; the intercept fitted together with the slope",
    ),
    "ici": Metric(
        ici,
        "ICI",
        "On average the share of events lies this far from the stated risk, along a smooth curve.",
        needs="positive",
        source="Austin & Steyerberg 2019; the curve is Harrell's lowess, or their loess",
    ),
    "e50": Metric(
        e50,
        "E50",
        "For half of the scores the smooth curve lies no farther from the stated risk than this.",
        needs="positive",
        source="Austin & Steyerberg 2019",
    ),
    "e90": Metric(
        e90,
        "E90",
        "For nine scores in ten the smooth curve lies no farther from the stated risk than this.",
        needs="positive",
        source="Austin & Steyerberg 2019",
    ),
    "emax": Metric(
        emax,
        "Emax",
        "The smooth curve lies nowhere farther from the stated risk than this.",
        needs="positive",
        source="Harrell 2015; Austin & Steyerberg 2019",
    ),
    "spiegelhalter_z": Metric(
        spiegelhalter_z,
        "Spiegelhalter z",
        "Beyond ±1.96, chance alone is an unlikely explanation of its squared errors.",
        range=LINE,
        better="zero",
        needs="positive",
        source="Spiegelhalter 1986",
    ),
    "brier_skill": Metric(
        brier_skill,
        "Brier skill",
        "How much smaller its squared errors are than those of always stating the average.",
        range=(float("-inf"), 1.0),
        better="higher",
        needs="positive",
        source="Brier 1950; against the share of events in these data",
    ),
}
