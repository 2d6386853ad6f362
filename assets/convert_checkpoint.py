"""Turn a checkpoint that Candor refuses into plain weights: FILE -> FILE.safetensors.

    python convert_checkpoint.py FILE [--key model] [--out weights.safetensors]

This LOADS THE FILE THE UNSAFE WAY: a pickle or a TorchScript program can do anything that you can.
Run it only where you trust the file, with the packages that its network needs. It takes a whole
pickled network, a dict with a network or a state dict in it, and TorchScript. Needs torch and
safetensors, and nothing of Candor.
"""

import argparse
import sys
import zipfile
from pathlib import Path

import torch
from safetensors.torch import save_file


def opened(path: Path) -> object:
    """Load a file, whatever is in it."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            if any(name.endswith("/constants.pkl") for name in archive.namelist()):
                return torch.jit.load(path, map_location="cpu")
    return torch.load(path, map_location="cpu", weights_only=False)


def states(
    value: object, key: str = "", around: frozenset[int] = frozenset()
) -> dict[str, dict[str, torch.Tensor]]:
    """Return every state dict in a value, by where it lies; `around` are the dicts it lies in."""
    if isinstance(value, torch.nn.Module):
        value = value.state_dict()
    if not isinstance(value, dict) or {"state", "param_groups"} <= value.keys():
        return {}
    if id(value) in around:  # a dict that holds itself
        return {}
    tensors = {name: one for name, one in value.items() if isinstance(one, torch.Tensor)}
    found = {key: tensors} if any("weight" in str(name) for name in tensors) else {}
    for name, inner in value.items():
        found |= states(inner, f"{key}.{name}" if key else str(name), around | {id(value)})
    return found


def main() -> int:
    """Convert the file that the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--key", help="which state, where the file holds several")
    parser.add_argument("--out", type=Path, help="FILE.safetensors if not given")
    asked = parser.parse_args()
    out = asked.out or asked.file.with_name(f"{asked.file.name}.safetensors")
    if out.exists():
        print(f"{out} exists: name another file with --out", file=sys.stderr)
        return 2
    found = states(opened(asked.file))
    if asked.key is None and len(found) == 1:
        (asked.key,) = found
    if asked.key not in found:
        keys = ", ".join(repr(key) for key in found) or "none"
        print(f"choose one of these states with --key: {keys}", file=sys.stderr)
        return 2
    plain = {str(name): one.detach().clone().contiguous() for name, one in found[asked.key].items()}
    save_file(plain, out)
    print(f"{len(plain)} tensors of {asked.key or 'the file'} written to {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
