#!/bin/sh
# Writes deploy/lock-cuda.txt and deploy/lock-cpu.txt: requirements-login.txt and all that it needs, each
# file by its hashes, for Linux, Windows and macOS and Python 3.11 or newer. Versions are those of
# .venv, with which the tests ran. The CPU's list leaves PyTorch out: its CPU build comes from
# PyTorch's own index, by its version.
set -eu
cd "$(dirname "$0")/.."
installed=$(mktemp)
trap 'rm -f "$installed"' EXIT
.venv/bin/python -m pip freeze --exclude-editable | grep -E '^[A-Za-z0-9._-]+==[^+]+$' > "$installed"
lock() {
  .venv/bin/uv pip compile requirements-login.txt --quiet --universal --python-version 3.11 \
    --generate-hashes --no-header --no-annotate --constraint "$installed" "$@"
}
lock --output-file deploy/lock-cuda.txt
left_out=$(grep -oE '^(torch|torchvision|triton|nvidia-[a-z0-9-]+|cuda-[a-z]+)==' deploy/lock-cuda.txt | tr -d =)
# shellcheck disable=SC2046  # one option a name
lock $(printf -- '--no-emit-package %s ' $left_out) --output-file deploy/lock-cpu.txt
sed -i '/^# The following packages were excluded/,$d' deploy/lock-cpu.txt
