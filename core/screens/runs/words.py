"""Words of the first screen, in full and in plain words."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from core.metrics.verdict_codes import VerdictCode
from core.screens.kit.theme import Tone

Spoken = tuple[str, Tone]
NO_VERDICT: Final = "–"


@dataclass(frozen=True, kw_only=True)
class RunsWords:
    """What the first screen says.

    Attributes
    ----------
    headline : str
        Over the drop zone.
    heads : mapping
        Of the table's columns, in their order, by the name of a column of `RunTable`; a column
        without one is left out.
    helps : mapping
        What a column shows, where its head does not say it.
    caption : str
        Below the table, behind the number of runs.
    tasks : mapping
        Kinds of answers, by task; "" for a history of gammas, ``{n}`` the number of classes.
    labels : str
        What a run of many labels answers with.
    verdicts : mapping
        A verdict with its tone; ``{by}`` is the gap in points.
    alone : mapping
        As `verdicts`, where no head of a column says what they are of.
    by_label, by_label_alone : str
        Instead of a verdict, where each label has its own.
    labels_off : str
        How many labels are off, where that is known; ``{off}``, ``{n}``.
    rows, line : str
        What a draft holds, and its numbers; ``{n}``, ``{accuracy}``, ``{ece}``, ``{interval}``.
    """

    headline: str
    heads: Mapping[str, str]
    helps: Mapping[str, str]
    caption: str
    tasks: Mapping[str, str]
    labels: str
    verdicts: Mapping[str, Spoken]
    alone: Mapping[str, Spoken]
    by_label: str
    by_label_alone: str
    labels_off: str
    rows: str
    line: str


TECHNICAL: Final = RunsWords(
    headline="Drop logits or probabilities to see whether the confidence can be trusted.",
    heads={
        "name": "Run",
        "task": "Task",
        "n": "n",
        "accuracy": "Accuracy, %",
        "ece": "ECE, %",
        "interval": "95 % interval",
        "floor": "Floor",
        "direction": "Direction",
        "tags": "Tags",
        "added": "Added",
    },
    helps={
        "ece": "Expected calibration error over 15 equal-width bins, as on the run’s own page.",
        "floor": "A perfect model’s ECE on as many rows stays below this 95 times in 100.",
        "direction": "Mean claim minus what came true, in points: of answers, or of the event.",
    },
    caption="Click a name to open the run.",
    tasks={
        "multiclass": "{n} classes",
        "binary": "yes or no",
        "top_label": "top answer",
        "": "gammas",
    },
    labels="{n} labels",
    verdicts={
        VerdictCode.OVER_CONFIDENT: ("▲ says more by {by}", "over"),
        VerdictCode.UNDER_CONFIDENT: ("▼ says less by {by}", "under"),
        VerdictCode.OVERESTIMATES: ("▲ says more by {by}", "over"),
        VerdictCode.UNDERESTIMATES: ("▼ says less by {by}", "under"),
        VerdictCode.TOO_EXTREME: ("◆ too extreme", "ink"),
        VerdictCode.TOO_MODERATE: ("◆ too moderate", "ink"),
        VerdictCode.MIXED: ("◆ mixed", "ink"),
        VerdictCode.OFF_BUT_SMALL: ("● off by little", "ink"),
        VerdictCode.SOUND: ("● sound", "sound"),
        VerdictCode.COULD_BE_CHANCE: ("○ could be chance", "ink"),
    },
    alone={
        VerdictCode.OVER_CONFIDENT: ("▲ over-confident by {by} points", "over"),
        VerdictCode.UNDER_CONFIDENT: ("▼ under-confident by {by} points", "under"),
        VerdictCode.OVERESTIMATES: ("▲ overestimates by {by} points", "over"),
        VerdictCode.UNDERESTIMATES: ("▼ underestimates by {by} points", "under"),
    },
    by_label="by label",
    by_label_alone="verdicts by label",
    labels_off="{off} of {n} labels off",
    rows="{n} rows",
    line="accuracy {accuracy} % · ECE {ece} % ({interval})",
)
PLAIN: Final = RunsWords(
    headline="Drop your model’s answers to see whether its certainty can be trusted.",
    heads={
        "name": "Run",
        "n": "Pictures",
        "accuracy": "Right, in 100",
        "ece": "Off by, points",
        "direction": "Its certainty",
        "tags": "Tags",
        "added": "Added",
    },
    helps={
        "accuracy": "How often it is right, out of 100.",
        "ece": "How far its stated certainty is from how often it is right, on average.",
        "direction": "How its stated certainty compares with how often it is right.",
    },
    caption="Click a name to open the run.",
    tasks=TECHNICAL.tasks,
    labels="{n} findings",
    verdicts={
        VerdictCode.OVER_CONFIDENT: ("▲ too sure by {by} in 100", "over"),
        VerdictCode.UNDER_CONFIDENT: ("▼ not sure enough by {by} in 100", "under"),
        VerdictCode.OVERESTIMATES: ("▲ expects too many, by {by} in 100", "over"),
        VerdictCode.UNDERESTIMATES: ("▼ expects too few, by {by} in 100", "under"),
        VerdictCode.TOO_EXTREME: ("◆ chances differ too much", "ink"),
        VerdictCode.TOO_MODERATE: ("◆ chances differ too little", "ink"),
        VerdictCode.MIXED: ("◆ too sure here, too unsure there", "ink"),
        VerdictCode.OFF_BUT_SMALL: ("● off by little", "ink"),
        VerdictCode.SOUND: ("● well calibrated", "sound"),
        VerdictCode.COULD_BE_CHANCE: ("○ could be chance", "ink"),
    },
    alone={},
    by_label="differs by finding",
    by_label_alone="differs by finding",
    labels_off="{off} of {n} findings off",
    rows="{n} pictures",
    line="right {accuracy} in 100 · off by {ece} points ({interval})",
)
