"""The form of the Evaluate page: images, sets beside them, and what the network is shown."""

from collections.abc import Callable
from typing import Final

import streamlit as st

from core.datasets.catalogue import DATASETS
from core.datasets.shifts import CORRUPTIONS, KINDS, OFFICIAL, OWN, SEVERITIES
from core.datasets.splits import SPLIT_NAMES
from core.errors import UsageError
from core.inference.config import DEVICES
from core.inference.preprocessing import AVERAGES, CROPS, INTERPOLATIONS, MOMENTS
from core.models.catalogue import MODELS
from core.screens.evaluate.results import PART_WORDS
from pages.ui import state, widgets
from pages.ui.escape import esc
from pages.ui.evaluate import state as form
from pages.ui.evaluate.state import key
from pages.ui.weights_source import OpenedWeights

SESSION: Final = "session"  # values outlive a change of page
NARROW, WIDE = 132, 250
PLAIN_KINDS: Final = {
    "svhn": "House numbers (SVHN)",
    "cifar10c": "Damaged photographs (CIFAR-10-C)",
    "corrupted": "The test images, damaged",
    "folder": "A folder of pictures",
}
MOMENT_WORDS: Final = {
    form.OF_DATA: "of the data",
    "imagenet": "of ImageNet",
    "half": "of one half (timm)",
    "cifar10": "of CIFAR-10, released code",
    "cifar100": "of CIFAR-100, released code",
    form.OWN: "of my own",
}
DEVICE_WORDS: Final = {"auto": "Automatic", "cpu": "CPU", "cuda": "GPU"}
SET_ROOTS: Final = {
    "svhn": ("Folder of SVHN, or test_32x32.mat", "Empty: the data folder; downloaded if missing."),
    "cifar10c": ("Folder of CIFAR-10-C", "With gaussian_noise.npy and so on, and labels.npy."),
    "folder": ("Folder of pictures", "Pictures of none of the classes; folders in it count too."),
}
LIBRARIES: Final = "of the catalogue, timm or torchvision"
MORE_THAN: Final = 12  # sets from which their number is said


def images() -> None:
    """Draw which data, parts and sets are looked at."""
    widgets.title("Images", "the data it is asked about, and others beside them")
    left, right = st.columns(2, gap="small")
    with left:
        _select("Data", "data", list(DATASETS), lambda name: DATASETS[name].label)
        widgets.caption(DATASETS[str(form.value("data"))].plain)
    with right:
        st.multiselect(
            "Parts",
            list(SPLIT_NAMES),
            key=key("splits"),
            persist_state=SESSION,
            format_func=lambda part: PART_WORDS[part][0],
            help="A temperature is fitted on the validation part; headline numbers come from the "
            "test part.",
        )
    if DATASETS[str(form.value("data"))].needs_root:
        _text("Data folder", "data_root", "On the machine that evaluates.")
    _sets()


def _sets() -> None:
    """Draw the sets beside the data, and what each of them needs."""
    words = PLAIN_KINDS if state.plain() else KINDS
    data = str(form.value("data"))
    offered = [kind for kind in KINDS if kind != "cifar10c" or data == "cifar10"]
    offered = [kind for kind in offered if kind != data]
    kinds = [kind for kind in form.value("kinds") or [] if kind in offered]
    if kinds != form.value("kinds"):
        form.put("kinds", kinds)
    st.multiselect(
        "Beside them",
        offered,
        key=key("kinds"),
        persist_state=SESSION,
        format_func=words.__getitem__,
        placeholder="Nothing: add images it never learned from",
        help="What it says of images that are shifted or belong to none of the classes.",
    )
    if {"corrupted", "cifar10c"} & set(kinds):
        _corruptions(kinds)
    for kind in kinds:
        if kind in SET_ROOTS:
            label, help_text = SET_ROOTS[kind]
            _text(label, f"{kind}_root", help_text)


def _corruptions(kinds: list[str]) -> None:
    own = "corrupted" in kinds
    st.multiselect(
        "Corruptions",
        list(OWN if own else OFFICIAL),
        key=key("corruptions"),
        persist_state=SESSION,
        format_func=lambda name: CORRUPTIONS[name].label,
        help="Those of CIFAR-10-C (Hendrycks and Dietterich 2019).",
    )
    st.pills(
        "Severity",
        list(SEVERITIES),
        selection_mode="multi",
        key=key("severities"),
        persist_state=SESSION,
        help="1 is mild, 5 is strong.",
    )
    try:
        n = len(form.sets())
    except UsageError:
        return  # said at the button
    if n > MORE_THAN:
        widgets.caption(f"{n} sets; each corrupted one is as large as the test part.")


def shown() -> None:
    """Draw what is done to an image before the network sees it."""
    try:
        preprocessing = form.preprocessing()
    except UsageError:
        summary = "see below"
    else:
        crops = f", {preprocessing.crops} crops" if preprocessing.crops > 1 else ""
        moments = MOMENT_WORDS[str(form.value("moments"))]
        height, width = preprocessing.size
        summary = f"{height} x {width}{crops}; mean and deviation {moments}"
    with st.expander(f"What the network is shown: {summary}", key="evaluate.shown"):
        _sizes()
        _moments()
        _crops()
        if st.session_state.get(form.EDITED):
            st.button(
                "As the network's own settings say",
                key="evaluate.refill",
                type="tertiary",
                icon=":material/undo:",
                on_click=_refill,
            )


def _edited() -> None:
    st.session_state[form.EDITED] = True


def _refill() -> None:
    st.session_state[form.EDITED] = False
    st.session_state[form.SHOWN_FOR] = None


def _sizes() -> None:
    fixed = form.model() not in MODELS
    help_text = (
        "Only its own size fits this network." if fixed else "Pixels that the network takes."
    )
    with st.container(horizontal=True, vertical_alignment="top", key="evaluate.sizes"):
        _whole("Height", "height", help_text, disabled=fixed, changed=_edited)
        _whole("Width", "width", help_text, disabled=fixed, changed=_edited)
        st.number_input(
            "Share kept",
            *form.ENDS["crop"],
            step=0.005,
            format="%g",
            key=key("crop"),
            persist_state=SESSION,
            on_change=_edited,
            help="Of the sides of the scaled image: 224 of 256 is 0.875.",
            width=NARROW,
        )
        _select("Scaled by", "interpolation", list(INTERPOLATIONS), str, NARROW, _edited)
        st.toggle(
            "Keep proportions",
            key=key("cover"),
            persist_state=SESSION,
            on_change=_edited,
            help="Scale until the image covers, and cut off what lies beyond; else stretch it.",
        )


def _moments() -> None:
    with st.container(horizontal=True, vertical_alignment="top", key="evaluate.box.moments"):
        options = [form.OF_DATA, *MOMENTS, form.OWN]
        _select("Mean and deviation", "moments", options, _capital, WIDE, _edited)
        if form.value("moments") == form.OWN:
            for label, name in (("Mean", "mean"), ("Standard deviation", "std")):
                _text(label, name, "Of each channel, in 0 to 1.", width=WIDE, changed=_edited)
    if form.value("moments") in MOMENTS:
        mean, std = MOMENTS[str(form.value("moments"))]
        numbers = (", ".join(f"{number:g}" for number in part) for part in (mean, std))
        widgets.caption(" ± ".join(numbers))


def _capital(name: str) -> str:
    words = MOMENT_WORDS[name]
    return words[0].upper() + words[1:]


def _crops() -> None:
    with st.container(horizontal=True, vertical_alignment="top", key="evaluate.box.crops"):
        st.selectbox(
            "Parts of an image looked at",
            list(CROPS),
            key=key("crops"),
            persist_state=SESSION,
            format_func=lambda n: f"{n}: {CROPS[n]}",
            on_change=_edited,
            width=360,
        )
        if form.value("crops") != 1:
            _select("Of these", "average", list(AVERAGES), AVERAGES.__getitem__, 360, _edited)


def more() -> None:
    """Draw what matters less."""
    with (
        st.expander("More settings", key="evaluate.more"),
        st.container(horizontal=True, vertical_alignment="top", key="evaluate.rest"),
    ):
        _text("Name", "name", "Empty for network and data.", width=WIDE)
        _whole("Images of each", "limit", "At even distances; empty for all.")
        _whole("Batch size", "batch_size", "Images at once: less needs less memory.")
        _select("Device", "device", list(DEVICES), DEVICE_WORDS.__getitem__, NARROW)
        _whole("Seed of the split", "split_seed", "Of the validation part.")
        _whole("Seed of corruptions", "shift_seed", "Of those that are random.")
        if not DATASETS[str(form.value("data"))].needs_root:
            help_text = "On the machine that evaluates. Embedded data need none."
            _text("Data folder", "data_root", help_text, width=WIDE)


def network(opened: OpenedWeights, known: tuple[str, ...] | None) -> None:
    """Draw which network the weights are taken for."""
    candidates = opened.looks_like[str(form.value("group"))][: form.OFFERED]
    if candidates:
        st.radio(
            "It looks like",
            [*(candidate.model for candidate in candidates), form.OTHER],
            key=key("pick"),
            persist_state=SESSION,
            format_func=model_name,
            captions=None
            if state.plain()
            else [*(esc(candidate.why) for candidate in candidates), LIBRARIES],
            on_change=_picked,
            args=(opened,),
        )
    if form.value("pick") == form.OTHER:
        chosen = form.value("network")
        options = [*MODELS, *(known or ())]
        others = () if chosen is None or chosen in options else (chosen,)
        st.selectbox(
            "Network",
            [*others, *options],
            index=None,
            key=key("network"),
            persist_state=SESSION,
            format_func=model_name,
            placeholder="resnet50, vit, densenet121",
            filter_mode="contains",
        )


def model_name(model: str) -> str:
    """Return a network's name with the library that has it."""
    if model == form.OTHER:
        return "Another network"
    return MODELS[model].label if model in MODELS else model


def _picked(opened: OpenedWeights) -> None:
    candidates = {
        candidate.model: candidate for candidate in opened.looks_like[str(form.value("group"))]
    }
    picked = form.value("pick")
    if picked in candidates:
        form.take_candidate(candidates[picked])


def shape() -> None:
    """Draw how many outputs and channels the network has."""
    with st.container(horizontal=True, vertical_alignment="top", key="evaluate.shape"):
        _whole("Classes", "n_outputs", "Outputs of its last layer.")
        _whole("Channels", "channels", "Of the images it takes: 1 for grey, 3 for colours.")


def _select(
    label: str,
    name: str,
    options: list[str],
    words: Callable[[str], str],
    width: int | None = None,
    changed: Callable[[], None] | None = None,
) -> None:
    st.selectbox(
        label,
        options,
        key=key(name),
        persist_state=SESSION,
        format_func=words,
        on_change=changed or "rerun",
        width=width or "stretch",
    )


def _whole(
    label: str,
    name: str,
    help_text: str,
    *,
    disabled: bool = False,
    changed: Callable[[], None] | None = None,
) -> None:
    low, high = form.ENDS[name]
    st.number_input(
        label,
        int(low),
        int(high),
        value=None if name == "limit" else "min",
        step=1,
        key=key(name),
        persist_state=SESSION,
        help=help_text,
        disabled=disabled,
        on_change=changed or "rerun",
        width=NARROW,
    )


def _text(
    label: str,
    name: str,
    help_text: str,
    *,
    width: int | None = None,
    changed: Callable[[], None] | None = None,
) -> None:
    st.text_input(
        label,
        key=key(name),
        persist_state=SESSION,
        max_chars=form.LENGTHS[name],
        help=help_text,
        on_change=changed or "rerun",
        width=width or "stretch",
    )
