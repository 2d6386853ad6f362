"""Recipes come back as they were saved; an unreadable one counts as none."""

from pathlib import Path

import pytest

from core.errors import UsageError
from core.library.recipes import load_recipe, save_recipe


def test_recipe_is_remembered_and_replaced(library, home):
    assert load_recipe(library.home, "0123abcd") is None
    save_recipe(library.home, "0123abcd", {"scores": "logits", "scores_key": "ünï"})
    save_recipe(library.home, "0123abcd", {"scores": "probabilities", "scores_key": None})
    save_recipe(library.home, "ffffffff", {"scores": "sigmoid"})
    assert load_recipe(library.home, "0123abcd") == {"scores": "probabilities", "scores_key": None}
    assert sorted(path.name for path in (home / "recipes").iterdir()) == [
        "0123abcd.json",
        "ffffffff.json",
    ]


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"a": NaN}', "[" * 60_000, "{}" + " " * 70_000])
def test_unreadable_recipe_counts_as_none(text, library, home):
    save_recipe(library.home, "0123abcd", {"scores": "logits"})
    (home / "recipes" / "0123abcd.json").write_text(text)
    assert load_recipe(library.home, "0123abcd") is None


def test_recipes_are_forgotten_past_one_that_somebody_forgets_meanwhile(library, home, monkeypatch):
    for fingerprint in ("0123abcd", "ffffffff"):
        save_recipe(library.home, fingerprint, {})
    stat = Path.stat

    def late(path, **options):
        if path == home / "recipes" / "0123abcd.json":
            path.unlink(missing_ok=True)
        return stat(path, **options)

    monkeypatch.setattr(Path, "stat", late)
    assert library.forget_recipes(-1) == 1
    assert not list((home / "recipes").iterdir())


@pytest.mark.parametrize("fingerprint", ["", "../../x", "0123abcG", "0" * 65, "0123abcd\n"])
def test_fingerprints_that_could_leave_the_folder_are_refused(fingerprint, library, home):
    with pytest.raises(UsageError, match="FINGERPRINT"):
        save_recipe(library.home, fingerprint, {})
    with pytest.raises(UsageError, match="FINGERPRINT"):
        load_recipe(library.home, fingerprint)
    assert not home.exists()
