"""The map of the site: sections, pages, their titles and icons."""

from dataclasses import dataclass
from functools import cache

import streamlit as st
from streamlit.navigation.page import Page


@dataclass(frozen=True)
class Entry:
    """One page: the script in `pages`, its title and its icon."""

    name: str
    title: str
    icon: str

    @property
    def script(self) -> str:
        """Path of the script, as Streamlit wants it."""
        return f"pages/{self.name}.py"

    def page(self) -> Page:
        """Return the page for `st.navigation`; the first one lives at the root."""
        return st.Page(self.script, title=self.title, default=self is HOME)


HOME = Entry("library", "Runs", ":material/inventory_2:")
EVALUATE = Entry("evaluate", "Evaluate", ":material/fact_check:")
RELIABILITY = Entry("reliability", "Reliability", ":material/show_chart:")
POSTHOC = Entry("posthoc", "Post-hoc", ":material/tune:")
OOD = Entry("ood", "Out of distribution", ":material/blur_on:")
COMPARE = Entry("compare", "Compare", ":material/compare_arrows:")
REPORT = Entry("report", "Report", ":material/description:")
XRAY = Entry("xray", "Chest X-ray", ":material/radiology:")
TRAIN = Entry("train", "Train", ":material/model_training:")
GAMMA = Entry("gamma", "Gamma dynamics", ":material/timeline:")
PUBLISHED = Entry("published", "Published", ":material/article:")
THEORY = Entry("theory", "Theory", ":material/menu_book:")
SECTIONS: dict[str, tuple[Entry, ...]] = {
    "Audit": (HOME, EVALUATE, RELIABILITY, POSTHOC, OOD, COMPARE, REPORT),
    "Clinic": (XRAY,),
    "Train": (TRAIN, GAMMA),
    "Learn": (PUBLISHED, THEORY),
}


@cache
def entries() -> tuple[Entry, ...]:
    """Return every page in the order of the sidebar."""
    return tuple(entry for section in SECTIONS.values() for entry in section)


def navigation() -> Page:
    """Name every page to Streamlit; return the one that is asked for."""
    return st.navigation([entry.page() for entry in entries()], position="hidden")
