"""All or nothing: what fits is loaded whole, what does not is listed and never loaded."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core import codec
from core.errors import Refused, UsageError

SMALL = {"n_outputs": 5, "channels": 1, "size": (8, 8)}


def infos(state):
    from core.readers.weights.named_tensors import TensorInfo

    short = {"float32": "F32", "float64": "F64", "bfloat16": "BF16", "int64": "I64", "int8": "I8"}
    return [
        TensorInfo(name, tuple(one.shape), short[str(one.dtype).removeprefix("torch.")])
        for name, one in state.items()
    ]


@pytest.fixture
def small(torch, filled):
    from core.models.build import build

    torch.manual_seed(2)
    return filled(build("small_cnn", **SMALL), 1, (8, 8))


def matched(state, model="small_cnn", **wanted):
    from core.checkpoints.match import match

    return match(infos(state), model, **{**SMALL, **wanted})


def loaded(state, folder, model="small_cnn", **wanted):
    from safetensors.torch import save_file

    from core.checkpoints.match import load

    save_file({name: one.contiguous() for name, one in state.items()}, folder / "net.safetensors")
    return load(folder / "net.safetensors", model, **{**SMALL, **wanted})


def test_what_fits_is_loaded_whole_and_in_evaluation(small, same, tmp_path):
    state = small.state_dict()
    got = matched(state)
    assert (got.ok, got.matched, got.total) == (True, len(state), len(state))
    assert (got.renamed, got.left, got.likely_outputs) == ("", (), 5)
    net = loaded(state, tmp_path)
    assert not net.training
    same(net, small, 1, (8, 8))


def test_a_match_comes_back_from_json(small):
    from core.checkpoints.names import Match

    for state in (small.state_dict(), {"module.x.weight": small.state_dict()["head.weight"]}):
        got = matched(state)
        assert codec.read(Match, codec.to_json(got)) == got


def test_the_refusal_lists_what_is_missing_unexpected_and_of_another_shape(torch, small, tmp_path):
    state = {f"module.{name}": one for name, one in small.state_dict().items()}
    del state["module.blocks.0.1.bias"]
    state["module.blocks.0.1.scale"] = torch.ones(24)
    state["module.blocks.2.0.weight"] = torch.ones(96, 48, 1, 1)
    state["module.head.bias"] = torch.ones(5, dtype=torch.int64)
    with pytest.raises(Refused) as caught:
        loaded(state, tmp_path)
    assert caught.value.code == "STATE_DICT"
    total = len(small.state_dict())
    assert caught.value.what == (
        f"The weights do not fit small_cnn with 5 outputs: {total - 3} of {total} tensors do. "
        "missing (1): blocks.0.1.bias. unexpected (1): blocks.0.1.scale. "
        "another shape (2): blocks.2.0.weight (96, 48, 1, 1) in the file, (96, 48, 3, 3) in the "
        "network, head.bias torch.int64 in the file, torch.float32 in the network. "
        "renaming tried: the prefix “module.” was removed"
    )
    assert caught.value.remedy == "choose the network that the weights were made for"


def test_long_lists_are_cut_and_counted(torch):
    what = matched({"a.weight": torch.ones(1)}).refusal().what
    names = what.partition("missing (11): ")[2].partition(". unexpected")[0]
    assert names.count(",") == 9
    assert names.endswith(" and 1 more")


def test_a_wrong_number_of_outputs_names_the_likely_one(small, tmp_path):
    got = matched(small.state_dict(), n_outputs=9)
    assert (got.ok, got.likely_outputs) == (False, 5)
    assert got.refusal().remedy.startswith("give 5 outputs")
    with pytest.raises(Refused, match="give 5 outputs"):
        loaded(small.state_dict(), tmp_path, n_outputs=9)


def test_the_refusal_is_of_the_reading_that_fits_best(torch, small):
    """Under the names as they are nothing would fit."""
    state = {f"net.{name}": one for name, one in small.state_dict().items()}
    state["criterion.weight"] = torch.ones(5)
    got = matched(state, n_outputs=9)
    assert (got.missing, got.unexpected, len(got.mismatched)) == ((), (), 2)
    assert (got.likely_outputs, got.left) == (5, ("criterion.weight",))
    assert got.renamed == "the prefix “net.” was removed; “criterion.” not used"


def test_other_precisions_become_the_networks(torch, small, same, tmp_path):
    exact = {n: t.bfloat16().float() for n, t in small.state_dict().items()}
    small.load_state_dict(exact)
    for kind in (torch.bfloat16, torch.float64):
        net = loaded({name: one.to(kind) for name, one in exact.items()}, tmp_path)
        assert {one.dtype for one in net.state_dict().values()} == {torch.float32}
        same(net, small, 1, (8, 8))


def test_networks_that_cannot_be_made_are_refused_as_such(small):
    with pytest.raises(UsageError, match="SETTING: Model 'timm:none' is unknown"):
        matched(small.state_dict(), "timm:none", size=(224, 224))


# Mutations --------------------------------------------------------------------------------------

CHANGES = ("drop", "rename", "reshape", "add", "swap", "kind")


def mutated(torch, state, kind, which, other):
    """A state dict with one change, and the words of the refusal that must name it."""
    names = list(state)
    name, second = names[which % len(names)], names[other % len(names)]
    new = dict(state)
    if kind == "drop":
        del new[name]
        return new, [name]
    if kind == "rename":
        new[f"{name}x"] = new.pop(name)
        return new, [name, f"{name}x"]
    if kind == "reshape":
        new[name] = new[name][None]
        return new, [f"{name} (1, "]
    if kind == "add":
        new[f"{name.rpartition('.')[0]}.more"] = torch.ones(3)
        return new, [".more"]
    if kind == "kind":
        new[name] = new[name].to(torch.int8)
        return new, [f"{name} torch.int8"]
    if new[name].shape == new[second].shape:
        return None
    new[name], new[second] = new[second], new[name]
    return new, [f"{name} (", f"{second} ("]


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    kind=st.sampled_from(CHANGES),
    which=st.integers(0, 99),
    other=st.integers(0, 99),
    prefix=st.sampled_from(["", "module.", "_orig_mod.module."]),
)
def test_a_changed_state_is_refused_whole_with_the_change_named(
    torch, small, tmp_path, kind, which, other, prefix
):
    change = mutated(torch, small.state_dict(), kind, which, other)
    if change is None:
        return
    state = {f"{prefix}{name}": one for name, one in change[0].items()}
    assert not matched(state).ok
    with pytest.raises(Refused) as caught:
        loaded(state, tmp_path)
    assert caught.value.code == "STATE_DICT"
    assert all(word in caught.value.what for word in change[1])


def test_counters_of_batches_alone_may_be_missing(torch, filled, same, tmp_path):
    from core.models.build import build

    wanted = {"n_outputs": 3, "channels": 3, "size": (32, 32)}
    net = filled(build("resnet110_cifar", **wanted))
    old = {k: v for k, v in net.state_dict().items() if not k.endswith("num_batches_tracked")}
    assert matched(old, "resnet110_cifar", **wanted).ok
    same(loaded(old, tmp_path, "resnet110_cifar", **wanted), net)
    del old["layer1.0.bn1.running_mean"]
    assert matched(old, "resnet110_cifar", **wanted).missing == ("layer1.0.bn1.running_mean",)


def test_tensors_that_share_a_name_after_renaming_are_not_merged():
    """Old and new names of one layer in one file: neither may win."""
    from core.checkpoints.names import renamings

    names = ["f.denselayer1.norm.1.weight", "f.denselayer1.norm1.weight"]
    assert all(len(set(one.names.values())) == 2 for one in renamings(dict.fromkeys(names, (3,))))


def test_every_tensor_is_renamed_or_left_aside():
    from core.checkpoints.names import renamings

    names = [
        *(f"ema_model.module.net.layer{i}.weight" for i in range(5)),
        *(f"net.layer{i}.weight" for i in range(5)),
        *("criterion.weight", "n_averaged", "val_acc.tp"),
    ]
    found = renamings(dict.fromkeys(names, (3,)) | {"n_averaged": ()})
    for one in found:
        assert sorted([*one.names, *one.left]) == sorted(names)
        assert len(set(one.names.values())) == len(one.names)
    inner = {tuple(one.names.values()) for one in found}
    assert tuple(f"layer{i}.weight" for i in range(5)) in inner


def test_layers_beside_the_network_are_never_left_aside():
    """A second layer after a whole network would be lost without a word of its effect."""
    from core.checkpoints.names import renamings

    names = [*(f"backbone.layer{i}.weight" for i in range(20)), "head.weight"]
    assert [one.left for one in renamings(dict.fromkeys(names, (3, 3)))] == [()]
