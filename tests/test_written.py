"""The files that snapshots are held against."""

from pathlib import Path

TESTS = Path(__file__).parent


def orphans(root: Path) -> list[Path]:
    """Return the folders of snapshots whose test module is gone: no run would report them."""
    folders = (path for path in root.rglob("__snapshots__/*") if path.is_dir())
    return [path for path in folders if not (path.parents[1] / f"{path.name}.py").exists()]


def test_every_folder_of_snapshots_has_its_module(tmp_path: Path) -> None:
    assert (TESTS / "core/screens/__snapshots__/test_snapshots").is_dir()
    assert orphans(TESTS) == []

    (tmp_path / "__snapshots__/test_renamed").mkdir(parents=True)
    assert [path.name for path in orphans(tmp_path)] == ["test_renamed"]
    (tmp_path / "test_renamed.py").touch()
    assert orphans(tmp_path) == []
