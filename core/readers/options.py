"""What a user may say about a file before it is read; a saved copy is the recipe."""

from collections.abc import Mapping
from dataclasses import dataclass, fields

from core.errors import UsageError
from core.predictions import ScoreKind


@dataclass(frozen=True)
class ReadOptions:
    """Choices that override the reader's own; all None by default.

    Parameters
    ----------
    scores : ScoreKind or None
        What the numbers are.
    scores_key, labels_key : str or None
        Key of an array, or column of a table. In a table also a comma-separated list of columns
        or a common prefix of their names.
    id_column : str or None
        Column that names the rows; two files are joined by it.
    unlabelled : bool
        Take the scores of inputs that belong to none of the classes: labels are neither needed
        nor looked at, and stated confidences may be any numbers.
    """

    scores: ScoreKind | None = None
    scores_key: str | None = None
    labels_key: str | None = None
    id_column: str | None = None
    unlabelled: bool = False

    def to_json(self) -> dict[str, str | bool | None]:
        """Return the choices as plain JSON."""
        unlabelled: dict[str, str | bool | None] = {"unlabelled": True} if self.unlabelled else {}
        return unlabelled | {
            "scores": None if self.scores is None else str(self.scores),
            "scores_key": self.scores_key,
            "labels_key": self.labels_key,
            "id_column": self.id_column,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> "ReadOptions":
        """Return the choices of a recipe.

        Raises
        ------
        UsageError
            SETTING: an unknown key, an unknown kind of scores, or a value of another type.
        """
        known = [field.name for field in fields(cls)]
        data = dict(data)
        unlabelled = data.pop("unlabelled", False)
        if not isinstance(unlabelled, bool):
            raise UsageError("SETTING", f"unlabelled is {unlabelled!r}", "give true or false")
        for key, value in data.items():
            if key not in known:
                raise UsageError("SETTING", f"unknown choice {key!r}", f"use {', '.join(known)}")
            if value is not None and not isinstance(value, str):
                raise UsageError("SETTING", f"{key} is {value!r}", "give text or null")
        chosen = {key: str(value) for key, value in data.items() if value is not None}
        kind = chosen.pop("scores", None)
        if kind is not None and kind not in set(ScoreKind):
            kinds = ", ".join(ScoreKind)
            raise UsageError("SETTING", f"scores is {kind!r}", f"use one of {kinds}")
        scores = None if kind is None else ScoreKind(kind)
        return cls(scores=scores, unlabelled=unlabelled, **chosen)
