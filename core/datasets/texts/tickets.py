"""Messages to the help desk of a shop, written by a program; nobody sent them. No torch.

Each has a desk that should answer it. Some sentences fit one desk alone, others two, and some
any, so a part of the messages cannot be told apart by anyone.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np

from core.datasets.texts.reading import TextRow

N: Final = 4_800
SEED: Final = 1912
OWN: Final = 0.4  # share of sentences that fit one desk alone; half of the others fit two

SLOTS: Final[Mapping[str, tuple[str, ...]]] = {
    "item": (
        "kettle", "desk lamp", "toaster", "backpack", "blender", "radio", "drill", "tent",
        "coffee grinder", "office chair", "vacuum cleaner", "bicycle pump", "camera", "heater",
    ),
    "day": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"),
    "city": ("Leeds", "Cork", "Bristol", "Dundee", "Cardiff", "Galway", "Norwich", "Belfast"),
    "n": ("two", "three", "four", "five", "six", "ten"),
    "colour": ("blue", "black", "green", "red", "white", "grey"),
}  # fmt: skip
DESKS: Final[Mapping[str, tuple[str, ...]]] = {
    "account": (
        "I cannot log in since you changed the page.",
        "The link to reset my password has expired.",
        "How do I change the e-mail of my account?",
        "Please delete my account and all that you store about me.",
        "Your site says that my user name is taken, and it is mine.",
        "I get the newsletter {n} times a week and cannot switch it off.",
        "The code that you text me never arrives.",
    ),
    "billing": (
        "The invoice for the {item} adds the tax twice.",
        "My card was charged {n} times for one {item}.",
        "The voucher from {day} was not taken off the total.",
        "I need the invoice with the name of our company in {city}.",
        "Why is there a fee on my statement?",
        "I paid on {day} and still got a reminder.",
        "Can I pay for the {item} in {n} instalments?",
    ),
    "delivery": (
        "The parcel has been in {city} since {day}.",
        "The driver left the {item} with a neighbour I do not know.",
        "Tracking has not moved for {n} days.",
        "Can you send the {item} to my office in {city} instead?",
        "Nobody rang, and the note says that I was out.",
        "I have waited in for the van on {day} for the second time.",
        "Do you deliver the {item} on a Saturday?",
    ),
    "jobs": (
        "I would like to apply for the post in your warehouse in {city}.",
        "My CV and {n} references are attached.",
        "Do you take trainees in autumn?",
        "I have worked behind a counter for {n} years.",
        "Is the post of a buyer in {city} still open?",
        "When will you let applicants know?",
        "I could start on a {day} and work part time.",
    ),
    "repairs": (
        "The {item} hums but does not start.",
        "After {n} weeks the switch of the {item} came off.",
        "Where do I get a spare lid for the {colour} {item}?",
        "The {item} gets hot and smells of burning.",
        "Is a crack in the housing covered by the guarantee?",
        "Your workshop in {city} has had my {item} since {day}.",
        "The manual does not say how to change the fuse.",
    ),
    "returns": (
        "I ordered a {colour} {item} and want to give it back.",
        "How long do I have to return the {item}?",
        "The label for sending it back does not print.",
        "It is not what the picture shows, so I do not want it.",
        "I would rather swap the {colour} one for a {item}.",
        "You have had my return since {day}, and I have heard nothing.",
        "I bought {n} and need only one.",
    ),
}  # fmt: skip
BOTH: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("account", "billing"): (
        "My old card is still stored on your page.",
        "The address on the order is not mine any more.",
        "I cannot see the order from {day} in my list.",
    ),
    ("billing", "returns"): (
        "I have not had my money back for the {item}.",
        "The refund is less than I paid.",
        "You took off the postage, is that right?",
    ),
    ("delivery", "returns"): (
        "The box was open, and the {item} was not in it.",
        "I got a {colour} {item}, and that is somebody else's.",
        "One of the {n} pieces is missing.",
    ),
    ("repairs", "returns"): (
        "The {item} was broken when I unpacked it.",
        "It worked for {n} days and then no more.",
        "Do I send the {item} to you or to {city}?",
    ),
    ("delivery", "jobs"): ("Do you still look for drivers around {city}?",),
}
ANY: Final = (
    "I wrote to you on {day} already.",
    "It is about the {item}.",
    "I have asked {n} times, so please ring me.",
    "I was told that you could help.",
    "I bought it in your shop in {city}.",
    "What do you need from me?",
    "It is rather urgent.",
)
OPENINGS: Final = ("Hello,", "Good morning,", "Dear team,", "Hi,", "To whom it may concern,", "")
CLOSINGS: Final = ("Thank you.", "Kind regards", "Please help.", "Best wishes", "Thanks", "")


def tickets() -> list[TextRow]:
    """Return N messages, as many for each desk, always the same ones."""
    rng = np.random.default_rng(SEED)
    desks = tuple(DESKS)
    return [
        TextRow(_message(rng, desks[k % len(desks)]), desks[k % len(desks)], f"ticket-{k:04}")
        for k in range(N)
    ]


def _message(rng: np.random.Generator, desk: str) -> str:
    """Return a message for a desk: one to three sentences between an opening and a closing."""
    n = int(rng.choice((1, 2, 3), p=(0.35, 0.45, 0.2)))
    chosen: dict[str, str] = {}  # each sentence once
    while len(chosen) < n:
        sentence = _sentence(rng, desk)
        chosen.setdefault(sentence, _filled(rng, sentence))
    parts = (_drawn(rng, OPENINGS), *chosen.values(), _drawn(rng, CLOSINGS))
    return " ".join(part for part in parts if part)


def _sentence(rng: np.random.Generator, desk: str) -> str:
    """Return a sentence that fits the desk: it alone, one other as well, or any."""
    draw = float(rng.random())
    if draw < OWN:
        return _drawn(rng, DESKS[desk])
    shared = [text for desks, texts in BOTH.items() if desk in desks for text in texts]
    return _drawn(rng, shared if draw < (1 + OWN) / 2 else ANY)


def _filled(rng: np.random.Generator, sentence: str) -> str:
    """Return a sentence with a word in each of its slots."""
    return sentence.format(**{slot: _drawn(rng, words) for slot, words in SLOTS.items()})


def _drawn(rng: np.random.Generator, texts: tuple[str, ...] | list[str]) -> str:
    return texts[int(rng.integers(len(texts)))]
