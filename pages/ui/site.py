"""The map of the site: six destinations, their views, titles and icons."""

from dataclasses import dataclass
from functools import cache

import streamlit as st

from pages.ui.streamlit_internals import Page


@dataclass(frozen=True)
class Entry:
    """One view: the script in `pages`, its title and icon, its title in plain words, its sample.

    The sample is the run that the view shows, or offers, until one is chosen.
    """

    name: str
    title: str
    icon: str
    plain: str = ""
    sample: str = ""

    @property
    def script(self) -> str:
        """Path of the script, as Streamlit wants it."""
        return f"pages/{self.name}.py"

    def page(self) -> Page:
        """Return the page for `st.navigation`; the first one lives at the root."""
        return st.Page(self.script, title=self.title, default=self is HOME)


SAMPLE = "cifar10-ce"  # over-confident; one temperature mends it, fog makes it worse
HOME = Entry("library", "Runs", ":material/inventory_2:")
EVALUATE = Entry("evaluate", "Evaluate", ":material/fact_check:")
RELIABILITY = Entry("reliability", "Reliability", ":material/show_chart:", sample=SAMPLE)
POSTHOC = Entry("posthoc", "Post-hoc", ":material/tune:", "Fix", SAMPLE)
OOD = Entry("ood", "Out of distribution", ":material/blur_on:", "Unfamiliar data", SAMPLE)
COMPARE = Entry("compare", "Compare", ":material/compare_arrows:")
HUMAN = Entry("human", "Human votes", ":material/how_to_vote:", sample="digits-crowd")
REPORT = Entry("report", "Report", ":material/description:", sample=SAMPLE)
XRAY = Entry("xray", "Chest X-ray", ":material/radiology:")
TRAIN = Entry("train", "Train", ":material/model_training:")
GAMMA = Entry("gamma", "Gamma dynamics", ":material/timeline:", sample="cifar10-adafocal")
PUBLISHED = Entry("published", "Published numbers", ":material/article:")
THEORY = Entry("theory", "Theory", ":material/menu_book:")


@dataclass(frozen=True)
class Destination:
    """What the sidebar leads to: a page, or several that stand in a row as its views."""

    title: str
    icon: str
    entries: tuple[Entry, ...]


DESTINATIONS = (
    Destination(HOME.title, HOME.icon, (HOME,)),
    Destination("Audit", RELIABILITY.icon, (RELIABILITY, POSTHOC, OOD, HUMAN, REPORT)),
    Destination(COMPARE.title, COMPARE.icon, (COMPARE, PUBLISHED)),
    Destination("Clinic", XRAY.icon, (XRAY,)),
    Destination("Models", TRAIN.icon, (EVALUATE, TRAIN, GAMMA)),
    Destination("Learn", THEORY.icon, (THEORY,)),
)


@cache
def entries() -> tuple[Entry, ...]:
    """Return every page in the order of the sidebar."""
    return tuple(entry for destination in DESTINATIONS for entry in destination.entries)


def destination_of(entry: Entry) -> Destination:
    """Return the destination that a page is a view of."""
    return next(destination for destination in DESTINATIONS if entry in destination.entries)


def navigation() -> tuple[Page, Entry]:
    """Name every page to Streamlit; return the one that is asked for, and its entry."""
    page = st.navigation([entry.page() for entry in entries()], position="hidden")
    return page, next((entry for entry in entries() if entry.name == page.url_path), HOME)
