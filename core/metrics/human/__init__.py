"""How far a model's probabilities are from what people said of the same rows; numpy and scipy.

Rows carry votes n_ik; h_ik = n_ik / sum_k n_ik are the shares of people. Definitions, with their
floors and sources: docs/metrics.md, section Human votes.
"""

from core.metrics.human.audit import HumanAudit, HumanScore, VoteBin, human_audit, judged_rows
from core.metrics.human.errors import (
    Knowing,
    agreement_rows,
    alike_rows,
    by_majority,
    entropy_rows,
    knowing,
    majority_shares,
    share_ece,
    soft_nll_rows,
    tvd_rows,
    vote_shares,
)

__all__ = [
    "HumanAudit",
    "HumanScore",
    "Knowing",
    "VoteBin",
    "agreement_rows",
    "alike_rows",
    "by_majority",
    "entropy_rows",
    "human_audit",
    "judged_rows",
    "knowing",
    "majority_shares",
    "share_ece",
    "soft_nll_rows",
    "tvd_rows",
    "vote_shares",
]
