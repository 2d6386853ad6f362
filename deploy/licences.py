"""``python -m deploy.licences``: docs/licences.md, from the metadata of what is installed."""

import re
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "licences.md"
PINS: Final = (ROOT / "requirements.txt", ROOT / "requirements-login.txt")
BUNDLED_TEXT: Final = re.compile(r"imagecodecs/licenses/LICENSE[-_](.+)")
LONGEST: Final = 90  # characters of a licence's name; a longer one is its text
SHORTEST: Final = 3  # a shorter line is a rule
HEAD: Final = """# Licences

What `requirements-login.txt` installs, with all that it needs, on Linux with the CUDA build of \
PyTorch. `python -m deploy.licences` writes this page from the metadata of the packages; what a \
package does not state is "see its files". The texts lie in each package's `dist-info` folder. \
This is a list, not legal advice: read the texts of the packages that you hand on.

| package | version | licence |
|---|---|---|
"""
BUNDLED: Final = """
## Libraries inside imagecodecs

Its wheel brings native libraries and their licences in `imagecodecs/licenses`: for some that this \
build leaves out too. The first line of each text, which may name the licence or the owner:

| library | its licence begins |
|---|---|
"""


def pins() -> list[str]:
    """Return the pinned packages, each as ``name==version``."""
    lines = [line for file in PINS for line in file.read_text().splitlines()]
    return [line for line in lines if "==" in line]


def installed() -> list[Distribution]:
    """Return the pinned packages and all that they need here, by name."""
    waiting = list(map(Requirement, pins()))
    visited: set[tuple[str, frozenset[str]]] = set()
    packages: dict[str, Distribution] = {}
    while waiting:
        requirement = waiting.pop()
        name, extras = canonicalize_name(requirement.name), frozenset(requirement.extras)
        if (name, extras) in visited:
            continue
        visited.add((name, extras))
        packages[name] = distribution(name)
        needs = map(Requirement, packages[name].requires or ())
        waiting.extend(need for need in needs if _needed(need, extras))
    return [packages[name] for name in sorted(packages)]


def _needed(requirement: Requirement, extras: frozenset[str]) -> bool:
    """Whether a package with some extras needs another one here."""
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras))


def licence_of(package: Distribution) -> str:
    """Return the licence that a package states, the most exact statement first."""
    metadata = package.metadata
    classifiers = [
        text.rsplit(" :: ", 1)[1]
        for text in metadata.get_all("Classifier") or ()
        if text.startswith("License :: ") and text.count(" :: ") > 1
    ]
    expression, free = (metadata.get_all(key) or [""] for key in ("License-Expression", "License"))
    for text in (expression[0], ", ".join(classifiers), free[0]):
        if text and len(text) <= LONGEST and "\n" not in text:
            return str(text)
    return "see its files"


def bundled() -> Iterator[tuple[str, str]]:
    """Yield the native libraries of imagecodecs, each with the first line of its licence."""
    for file in distribution("imagecodecs").files or ():
        match = BUNDLED_TEXT.fullmatch(file.as_posix())
        if match:
            text = Path(str(file.locate())).read_text("utf-8", "replace")
            lines = (" ".join(line.split()).strip("/*#=- ") for line in text.splitlines())
            first = next((line for line in lines if len(line) > SHORTEST), "see the file")
            yield match[1], first[:LONGEST].replace("|", "/")


def page() -> str:
    """Return docs/licences.md."""
    rows = "".join(
        f"| {package.metadata['Name']} | {package.version} | {licence_of(package)} |\n"
        for package in installed()
    )
    libraries = sorted(bundled(), key=lambda library: library[0].lower())
    return HEAD + rows + BUNDLED + "".join(f"| {name} | {line} |\n" for name, line in libraries)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
