"""What is installed is locked by hashes, listed with its licence, and in the bill of materials."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from deploy import licences

ROOT = Path(__file__).parents[1]
PINS = dict(line.split("==") for line in licences.pins())
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
ROW = re.compile(r"^\| ([\w.-]+) \| ([\w.+-]+) \| (.+) \|$", re.MULTILINE)
LINUX = {"sys_platform": "linux", "platform_machine": "x86_64", "platform_system": "Linux"}


def locked(name):
    """Return the requirements of a lock file, each with its hashes."""
    text = (ROOT / "deploy" / name).read_text().replace("\\\n", " ")
    entries = {}
    for line in text.splitlines():
        requirement = Requirement(line.split(" --hash=", 1)[0].strip())
        entries.setdefault(canonicalize_name(requirement.name), []).append(
            (requirement, HASH.findall(line))
        )
    return entries


def listed():
    """Return the packages of docs/licences.md with version and licence."""
    page = (ROOT / "docs" / "licences.md").read_text()
    rows = ROW.findall(page.split("\n## ")[0])
    return {canonicalize_name(name): (version, licence) for name, version, licence in rows[1:]}


def versions(entries):
    """Return the versions of a lock file on Linux."""
    return {
        name: str(requirement.specifier).removeprefix("==")
        for name, choices in entries.items()
        for requirement, _ in choices
        if requirement.marker is None or requirement.marker.evaluate(LINUX)
    }


@pytest.mark.parametrize("name", ["lock-cuda.txt", "lock-cpu.txt"])
def test_every_file_is_locked_by_a_hash(name):
    for choices in locked(name).values():
        for requirement, hashes in choices:
            assert re.fullmatch(r"==[\w.]+", str(requirement.specifier)), requirement
            assert hashes, requirement


def test_the_locks_hold_the_pins_and_all_that_they_need():
    cuda, cpu = versions(locked("lock-cuda.txt")), versions(locked("lock-cpu.txt"))
    assert {name: cuda[canonicalize_name(name)] for name in PINS} == PINS
    missing = cuda.keys() - cpu.keys()
    assert cpu.items() <= cuda.items()
    assert {"torch", "torchvision"} <= missing
    assert all(re.match(r"torch|torchvision|triton|nvidia-|cuda-", name) for name in missing)
    needed = {canonicalize_name(package.metadata["Name"]) for package in licences.installed()}
    assert needed <= cuda.keys()


def test_the_list_of_licences_names_every_locked_package():
    rows, cuda = listed(), versions(locked("lock-cuda.txt"))
    assert {name: rows[canonicalize_name(name)][0] for name in PINS} == PINS
    assert rows.keys() == cuda.keys()
    assert all(licence.strip() for _, licence in rows.values())


def test_the_list_of_licences_names_what_imagecodecs_brings():
    page = (ROOT / "docs" / "licences.md").read_text()
    libraries = dict(licences.bundled())
    assert len(libraries) > 50
    assert all(f"| {name} | {line} |" in page for name, line in libraries.items())


@pytest.mark.nightly
def test_the_bill_of_materials_holds_every_locked_package(tmp_path):
    command = ["-m", "cyclonedx_py", "requirements", str(ROOT / "deploy" / "lock-cuda.txt")]
    out = ["--output-format", "JSON", "--output-file", str(tmp_path / "sbom.json")]
    subprocess.run([sys.executable, *command, *out], check=True, capture_output=True)
    bill = json.loads((tmp_path / "sbom.json").read_text())
    assert bill["bomFormat"] == "CycloneDX"
    names = {canonicalize_name(component["name"]) for component in bill["components"]}
    assert names == locked("lock-cuda.txt").keys()


def test_what_a_login_needs_is_locked_too():
    for name in ("lock-cuda.txt", "lock-cpu.txt"):
        assert {"authlib", "cryptography", "joserfc"} <= locked(name).keys()


def pinned(folder, answers):
    """Run pin.sh with a Docker that says this of each image; there is no registry here."""
    for name in ("pin.sh", "compose.yaml", "Containerfile"):
        (folder / name).write_text((ROOT / "deploy" / name).read_text())
    cases = "".join(
        f"docker.io/library/{image}) echo '{answer}';;\n" for image, answer in answers.items()
    )
    (folder / "docker").write_text(
        f'#!/bin/sh\n[ "$1" = pull ] && exit\ncase "$5" in\n{cases}*) exit 1;;\nesac\n'
    )
    (folder / "docker").chmod(0o755)
    environment = os.environ | {"DOCKER": str(folder / "docker")}
    return subprocess.run(
        ["sh", folder / "pin.sh"], env=environment, capture_output=True, text=True
    )


def test_images_are_pinned_by_the_digest_that_the_registry_says(tmp_path):
    digests = {"python:3.11-slim-bookworm": "a" * 64, "nginx:1.28-alpine": "b" * 64}
    answers = {image: f"{image.split(':')[0]}@sha256:{digest}" for image, digest in digests.items()}
    assert pinned(tmp_path, answers).returncode == 0
    pins = dict(line.split("=") for line in (tmp_path / ".env").read_text().split())
    named = {f"{name.lower()}:{pin.split('@sha256:')[0]}": pin[-64:] for name, pin in pins.items()}
    assert named == digests
    compose = (tmp_path / "compose.yaml").read_text()
    for name, pin in pins.items():
        assert f"${{{name}:-{pin.split('@')[0]}}}" in compose
    assert f"ARG PYTHON={pins['PYTHON'].split('@')[0]}" in (tmp_path / "Containerfile").read_text()


@pytest.mark.parametrize("answer", ["", "<no value>", "nginx:1.28-alpine"])
def test_an_image_without_a_digest_is_not_pinned(tmp_path, answer):
    """As one that was built or loaded here; the pins of before stay."""
    (tmp_path / ".env").write_text("before")
    first = f"python@sha256:{'a' * 64}"
    done = pinned(tmp_path, {"python:3.11-slim-bookworm": first, "nginx:1.28-alpine": answer})
    assert done.returncode == 1
    assert done.stderr == "docker.io/library/nginx:1.28-alpine has no digest here\n"
    assert (tmp_path / ".env").read_text() == "before"


def test_the_image_takes_settings_and_no_secrets():
    lines = (ROOT / "deploy/Containerfile").read_text().splitlines()
    copied = [word for line in lines if line.startswith("COPY ") for word in line.split()[1:-1]]
    settings = [path for path in copied if path.startswith(".streamlit")]
    assert settings == [".streamlit/config.toml"]


def test_the_image_for_a_gpu_can_compile_networks():
    """With a compiler in what runs, and kept in the volume: nothing runs from /tmp in memory."""
    image = (ROOT / "deploy/Containerfile").read_text().rpartition("FROM ")[2]
    assert re.search(
        r'^RUN if \[ "\$\{TORCH\}" = cuda \].*\n.*install.* g\+\+ ', image, re.MULTILINE
    )
    assert image.index("ARG TORCH=") < image.index("RUN if") < image.index("USER candor")
    assert "CANDOR_HOME=/data" in image
    assert 'tmpfs: ["/tmp:' in (ROOT / "deploy/compose.yaml").read_text()
