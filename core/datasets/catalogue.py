"""What the data sets are called, what they hold and where they come from; no torch.

Pages and configs read it; `load` loads them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from core.datasets.splits import SPLIT_NAMES
from core.errors import UsageError
from core.predictions import Task

# Of ChestX-ray14, in the order of published label lists: eight of Wang et al. 2017, then NIH's six.
FINDINGS: Final = (
    "Atelectasis",
    "Cardiomegaly",
    "Effusion",
    "Infiltration",
    "Mass",
    "Nodule",
    "Pneumonia",
    "Pneumothorax",
    "Consolidation",
    "Edema",
    "Emphysema",
    "Fibrosis",
    "Pleural_Thickening",
    "Hernia",
)
MIDDLE: Final = 0.875  # 224 of 256 pixels, as ImageNet's images are usually shown


@dataclass(frozen=True)
class DataEntry:
    """One data set."""

    label: str  # printed name
    plain: str  # what it holds and how it is split, in a sentence
    source: str  # where it comes from
    task: Task = Task.MULTICLASS  # multiclass or multilabel
    # Rows of train, val and test; empty where they depend on the folder
    sizes: Mapping[str, int] = field(default_factory=dict)
    needs_root: bool = False  # a folder must be named; others are embedded or can be downloaded
    flip: bool = True  # mirrored images are as good: not for digits, which have a right and a left
    # Images may be shifted by up to their side divided by this (8: 4 of 32 pixels); 0 for none
    shift: int = 8
    # A network is shown parts of the images: random ones in training, else the middle
    cropped: bool = False
    trees: bool = False  # its texts are binary trees of words, which `tree_lstm` reads

    def stored(self, size: tuple[int, int]) -> tuple[int, int]:
        """Return height and width of images from which a network is shown parts of `size`."""
        if not self.cropped:
            return size
        return round(size[0] / MIDDLE), round(size[1] / MIDDLE)

    def shown(self, stored: tuple[int, int]) -> tuple[int, int]:
        """Return height and width that a network is shown of images so large."""
        if not self.cropped:
            return stored
        return round(MIDDLE * stored[0]), round(MIDDLE * stored[1])


def _sizes(*rows: int) -> dict[str, int]:
    return dict(zip(SPLIT_NAMES, rows, strict=True))


DATASETS: Final[dict[str, DataEntry]] = {
    "digits": DataEntry(
        "Digits",
        "1,797 handwritten digits, 8 x 8 grey pixels; the seed splits them 997/300/500.",
        "Optical recognition of handwritten digits (Alpaydin & Kaynak 1998), in scikit-learn",
        sizes=_sizes(997, 300, 500),
        flip=False,
    ),
    "cifar10": DataEntry(
        "CIFAR-10",
        "60,000 colour photographs of 32 x 32 pixels in 10 classes; the seed takes 5,000 of "
        "the 50,000 training images for validation; the test set is the official one.",
        "Krizhevsky 2009; split as in Mukhoti et al. 2020",
        sizes=_sizes(45_000, 5_000, 10_000),
    ),
    "cifar100": DataEntry(
        "CIFAR-100",
        "60,000 colour photographs of 32 x 32 pixels in 100 classes; split like CIFAR-10.",
        "Krizhevsky 2009; split as in Mukhoti et al. 2020",
        sizes=_sizes(45_000, 5_000, 10_000),
    ),
    "svhn": DataEntry(
        "SVHN",
        "99,289 house numbers of 32 x 32 colour pixels; the seed takes a tenth of the training "
        "images for validation; the test set is the official one.",
        "Netzer et al. 2011, cropped digits without the extra part",
        sizes=_sizes(65_932, 7_325, 26_032),
        flip=False,
    ),
    "tiny_imagenet": DataEntry(
        "Tiny-ImageNet",
        "110,000 colour photographs of 64 x 64 pixels in 200 classes; the seed takes 10,000 of "
        "the training images for validation; the official validation set is the test set.",
        "Le & Yang 2015, Stanford CS231N; sizes as in Ghosh et al. 2022, who take 50 of each class",
        sizes=_sizes(90_000, 10_000, 10_000),
        needs_root=True,
        shift=16,  # 4 of 64 pixels, as in the released code of Mukhoti et al.
    ),
    "imagenet": DataEntry(
        "ImageNet",
        "1,281,167 training photographs in 1,000 classes; the seed halves the official 50,000 "
        "validation photographs into validation and test part.",
        "Russakovsky et al. 2015, ILSVRC 2012; split as in Ghosh et al. 2022",
        sizes=_sizes(1_281_167, 25_000, 25_000),
        needs_root=True,
        shift=0,
        cropped=True,
    ),
    "folder": DataEntry(
        "Image folder",
        "A folder of pictures, one subfolder a class: either under train, test and perhaps "
        "val, or all together; then the seed splits each class 80/10/10.",
        "your own",
        needs_root=True,
    ),
    "chestxray14": DataEntry(
        "ChestX-ray14",
        "Frontal chest films with 14 findings text-mined from reports; no patient is in two parts.",
        "NIH ChestX-ray14 (Wang et al. 2017)",
        task=Task.MULTILABEL,
        needs_root=True,
        shift=0,
    ),
    "phantom": DataEntry(
        "Phantom films",
        "7,000 synthetic chest films of 128 x 128 grey pixels with 4 findings at known places; the "
        "seed splits them 4,000/1,000/2,000. None is of a person.",
        "Candor, core.xray.phantom",
        task=Task.MULTILABEL,
        sizes=_sizes(4_000, 1_000, 2_000),
        flip=False,
        shift=0,
    ),
}

# Data whose rows are texts; each is read from a path, and nothing of them is downloaded.
_texts = partial(DataEntry, flip=False, shift=0)
TEXT_DATA: Final[dict[str, DataEntry]] = {
    "20newsgroups": _texts(
        "20 Newsgroups",
        "19,997 messages in 20 groups, one file a message; the seed splits them 15,098/900/3,999 "
        "as in the papers, by another draw than their released code.",
        "Lang 1995; sizes of the parts as in Mukhoti et al. 2020",
        sizes=_sizes(15_098, 900, 3_999),
        needs_root=True,
    ),
    "sst2": _texts(
        "SST-2",
        "9,613 sentences of film reviews, positive or negative, in train.tsv, dev.tsv and "
        "test.tsv; the parts are its own.",
        "Socher et al. 2013, whole sentences",
        sizes=_sizes(6_920, 872, 1_821),
        needs_root=True,
    ),
    "sst_binary": _texts(
        "SST, two classes",
        "9,613 parsed sentences of film reviews, positive or negative, in train.txt, dev.txt and "
        "test.txt; all phrases of 6,920 of them, about 258,000, are trained on.",
        "Socher et al. 2013, Stanford Sentiment Treebank",
        sizes=_sizes(258_000, 872, 1_821),
        needs_root=True,
        trees=True,
    ),
    "ag_news": _texts(
        "AG News",
        "127,600 news items of four kinds in train.csv and test.csv; the seed takes a tenth of "
        "the training items for validation; the test set is the official one.",
        "Zhang et al. 2015",
        sizes=_sizes(108_000, 12_000, 7_600),
        needs_root=True,
    ),
    "finsen": _texts(
        "FinSen",
        "News items on economies in one CSV file, with the text in its column Content and the "
        "class in Category; the seed splits them 70/15/15.",
        "Liang et al. 2024, Enhancing Financial Market Predictions; split as in its released code",
        needs_root=True,
    ),
    "tickets": _texts(
        "Help-desk messages",
        "4,800 short messages to the six desks of a shop, written by a program; the seed splits "
        "them 1,200/600/3,000. Nobody sent them.",
        "Candor, core.datasets.texts.tickets",
        sizes=_sizes(1_200, 600, 3_000),
    ),
    "texts": _texts(
        "Texts",
        "A folder of text files, one subfolder a class, or a CSV or TSV file with a column of "
        "texts and one of labels; in parts where train and test are there, else the seed splits "
        "each class 80/10/10.",
        "your own",
        needs_root=True,
    ),
}


def checked_data(name: str) -> str:
    """Return the name if there is such a data set of images.

    Raises UsageError SETTING: an unknown name, or data that hold texts.
    """
    if name in TEXT_DATA:
        what = f"{name} holds texts, and only images can be evaluated"
        raise UsageError("SETTING", what, f"use {', '.join(DATASETS)}")
    if name not in DATASETS:
        raise UsageError("SETTING", f"No data set is called {name!r}", f"use {', '.join(DATASETS)}")
    return name


def data_entry(name: str) -> DataEntry:
    """Return what is known of data that can be trained on: images or texts.

    Raises UsageError SETTING: an unknown name.
    """
    if name in TEXT_DATA:
        return TEXT_DATA[name]
    if name in DATASETS:
        return DATASETS[name]
    known = ", ".join([*DATASETS, *TEXT_DATA])
    raise UsageError("SETTING", f"No data set is called {name!r}", f"use {known}")
