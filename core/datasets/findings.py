"""The 14 findings of ChestX-ray14, in the order of published label lists; no torch."""

from typing import Final

# The eight findings of Wang et al. 2017, then NIH's six more: the order of published label lists.
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
