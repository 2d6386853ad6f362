"""The converter: what Candor refuses becomes weights that it loads."""

import runpy
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from core.errors import Refused

SCRIPT = Path(__file__).parents[3] / "assets" / "convert_checkpoint.py"
NAME, WANTED = "shufflenet_v2_x0_5", {"n_outputs": 4, "channels": 3, "size": (224, 224)}


@pytest.fixture
def net(torch, filled):
    from torchvision import models

    torch.manual_seed(1)
    return filled(models.get_model(NAME, weights=None, num_classes=4), size=(64, 64))


@pytest.fixture
def convert(capsys, monkeypatch, tmp_path):
    """Runs the script in this process, which has torch already: its code, what it printed."""

    def run(*arguments):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", [str(SCRIPT), *arguments])
        with pytest.raises(SystemExit) as end:
            runpy.run_path(str(SCRIPT), run_name="__main__")
        printed = capsys.readouterr()
        return end.value.code, printed.out, printed.err

    return run


def check(path, parsed, net, same):
    from core.checkpoints.match import load

    file, into = parsed(path.read_bytes(), path.name)
    (group,) = file.groups
    loaded = load(into / group.file, f"torchvision:{NAME}", **WANTED)
    same(loaded, net, size=(64, 64))


@pytest.mark.slow  # a process that imports torch
def test_a_whole_pickled_network_as_users_run_it(torch, net, parsed, same, tmp_path):
    torch.save(net, tmp_path / "whole.pt")
    with pytest.raises(Refused, match="PICKLE_GLOBAL"):
        parsed((tmp_path / "whole.pt").read_bytes())
    done = subprocess.run(
        [sys.executable, SCRIPT, "whole.pt"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "tensors of the file written to whole.pt.safetensors" in done.stdout
    check(tmp_path / "whole.pt.safetensors", parsed, net, same)


def test_a_network_among_other_things(torch, net, convert, parsed, same, tmp_path):
    """As reproduce-chexnet saves: the network itself, around it DataParallel, and a best loss."""
    value = {"model": torch.nn.DataParallel(net), "best_loss": 0.1, "rng": torch.get_rng_state()}
    torch.save(value, tmp_path / "checkpoint")
    code, _, errors = convert("checkpoint", "--out", "weights.safetensors")
    assert (code, errors) == (0, "")
    check(tmp_path / "weights.safetensors", parsed, net, same)


@pytest.mark.filterwarnings("ignore:.* is deprecated:FutureWarning")
def test_a_torchscript_program(torch, net, convert, parsed, same, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that torch.jit is deprecated
        torch.jit.save(torch.jit.trace(net, torch.zeros(1, 3, 64, 64)), tmp_path / "net.pt")
    with pytest.raises(Refused, match="TORCHSCRIPT"):
        parsed((tmp_path / "net.pt").read_bytes())
    assert convert("net.pt")[0] == 0
    check(tmp_path / "net.pt.safetensors", parsed, net, same)


def test_of_several_states_one_is_chosen_by_its_key(torch, net, convert, parsed, same, tmp_path):
    other = torch.nn.Linear(2, 3)
    torch.save({"teacher": other, "student": {"net": net}}, tmp_path / "two.pt")
    code, output, errors = convert("two.pt")
    assert (code, output) == (2, "")
    assert "--key: 'teacher', 'student.net'" in errors
    assert convert("two.pt", "--key", "student.net")[0] == 0
    check(tmp_path / "two.pt.safetensors", parsed, net, same)


def test_a_dict_that_holds_itself_is_converted(torch, net, convert, parsed, same, tmp_path):
    value = {"model": net.state_dict()}
    value["all"] = value
    torch.save(value, tmp_path / "round.pt")
    code, _, errors = convert("round.pt")
    assert (code, errors) == (0, "")
    check(tmp_path / "round.pt.safetensors", parsed, net, same)


@pytest.mark.parametrize("out", [(), ("--out", "net.pt.safetensors"), ("--out", "net.pt")])
def test_no_file_is_written_over(torch, convert, tmp_path, out):
    torch.save(torch.nn.Linear(2, 3).state_dict(), tmp_path / "net.pt")
    (tmp_path / "net.pt.safetensors").write_text("kept")
    before = {one.name: one.read_bytes() for one in tmp_path.iterdir()}
    code, output, errors = convert("net.pt", *out)
    assert (code, output) == (2, "")
    assert "exists: name another file with --out" in errors
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == before
