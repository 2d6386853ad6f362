"""What is said of a model beside people: the first sentence, its second line, two editions."""

from dataclasses import dataclass

from core.metrics.human import HumanAudit, VoteBin
from core.metrics.records import Gap
from core.screens.kit.numbers import count, in_hundred, with_span
from core.screens.kit.records import Phrase, Sentence
from core.screens.kit.row_noun import with_row_noun
from core.screens.kit.theme import Tone


@dataclass(frozen=True)
class HumanWords:
    """Words of one edition: heads of numbers and tables, and what they mean."""

    distance: str
    distance_help: str
    entropy: str
    entropy_help: str
    rank: str
    rank_help: str
    error: str
    error_help: str
    likelihood: str
    likelihood_help: str
    figure: str
    figure_note: str
    axis: str
    tick: str
    rows: str
    floor: str
    no_floor: str
    best: str
    far_distance: str
    fits: str
    fitted: str
    labels: str
    votes: str
    far: str
    known: str


TECHNICAL = HumanWords(
    distance="TVD",
    distance_help="Total variation distance between probabilities and shares of votes, 0 to 1.",
    entropy="Entropy gap",
    entropy_help="Entropy of the probabilities minus that of the votes, in nats; below 0 the model "
    "is more confident than people.",
    rank="Ranked alike",
    rank_help="Share of images whose classes model and people rank alike; people's ties may come "
    "in either order.",
    error="ECE against votes",
    error_help="ECE with the share of people who agree in place of right and wrong, 15 bins.",
    likelihood="Soft NLL",
    likelihood_help="Negative log-likelihood of the votes; it cannot lie below their entropy.",
    figure="Gap by disagreement",
    figure_note="confidence minus share of people who agree; images by entropy of their votes",
    axis="◂ people agree · entropy of their votes, nats · people disagree ▸",
    tick="{:.2f}",
    rows="images",
    floor="floor {}",
    no_floor="no floor: {}",
    best="at best {}",
    far_distance="TVD",
    fits="Temperature on votes and on majority labels",
    fitted="Fitted on {} (T = {}),",
    labels="majority labels",
    votes="votes",
    far="Images where model and people differ most",
    known="a model that knew the true shares",
)
PLAIN = HumanWords(
    distance="Difference from people",
    distance_help="Of 100 parts of certainty, how many the model places on other answers than "
    "people do.",
    entropy="More sure than people",
    entropy_help="How much less doubt the model has than people; 0 is as sure as they are.",
    rank="Same order",
    rank_help="How often model and people put the answers in the same order.",
    error="Error against people",
    error_help="How far its certainty is from the share of people who agree, on average.",
    likelihood="Surprise at people’s answers",
    likelihood_help="How unexpected people’s answers are to the model; lower is better.",
    figure="Where people disagree",
    figure_note="how much more sure the model is than people, from clear cases to disputed ones",
    axis="◂ people agree · people disagree ▸",
    tick="",
    rows="pictures",
    floor="{} for a model that knew what people think",
    no_floor="cannot be set against a model that knew what people think: {}",
    best="{} for a model that knew what people think",
    far_distance="difference",
    fits="Could it be made less sure?",
    fitted="With a correction learned from {},",
    labels="what most people chose",
    votes="how many people chose it",
    far="Pictures where model and people differ most",
    known="a model that knew what people think",
)


def agreement_words(vote_bin: VoteBin) -> str:
    """Return how many of 100 people agree with the answers of the fullest bin."""
    share, low, high = vote_bin.agreement, vote_bin.low, vote_bin.high
    agreed = in_hundred(share, low, high)
    interval = f"{100 * low:.0f} to {100 * high:.0f}"
    sure = in_hundred(vote_bin.confidence)
    return (
        f"Of 100 people asked, {agreed} ({interval}) would agree with an answer that the model is "
        f"{sure} in 100 sure of."
    )


def yardstick(*, by_majority: bool) -> str:
    """Return what an audit holds the answers of a file with votes against."""
    return "against the majority label" if by_majority else "against the labels"


def opposite_words(answers: Gap, people: Gap) -> str:
    """Say where votes show the opposite of what labels show; else nothing."""
    if {tone_of(answers), tone_of(people)} != {"over", "under"}:
        return ""
    more = "more" if people.gap > 0.0 else "less"
    size = with_span(abs(people.gap), *sorted((abs(people.low), abs(people.high))))
    return f"Against people’s votes it is the opposite: {more} sure than people by {size} points."


def human_sentence(audit: HumanAudit, *, plain: bool) -> Sentence:
    """Return the opening: agreement in the fullest bin, then whether the model is surer."""
    gap = audit.direction
    tone = tone_of(gap)
    first, _, rest = agreement_words(audit.fullest).partition(" would agree")
    start, _, agreed = first.partition("asked, ")
    parts = (Phrase(f"{start}asked, "), Phrase(agreed, tone), Phrase(f" would agree{rest}"))
    size = with_span(abs(gap.gap), *sorted((abs(gap.low), abs(gap.high))))
    surer = {
        "over": f"More sure than people by {size} points",
        "under": f"Less sure than people by {size} points",
        "few": "About as sure as people; the difference could be chance: "
        f"{with_span(gap.gap, gap.low, gap.high)} points",
    }[tone]
    things = with_row_noun((PLAIN if plain else TECHNICAL).rows)
    second = f"{surer}, on {count(audit.n)} {things[:-1] if audit.n == 1 else things}"
    if audit.mean is not None:
        mean = f"{audit.mean:.0f}"
        vote, votes = ("person", "people") if plain else ("vote", "votes")
        about = "" if audit.least == audit.most else "about "
        second += f" of {about}{mean} {vote if mean == '1' else votes} each"
    return Sentence(parts, f"{second}.")


def tone_of(gap: Gap) -> Tone:
    """Return over or under where the interval of the gap leaves 0 out, else few."""
    if gap.low > 0.0:
        return "over"
    return "under" if gap.high < 0.0 else "few"
