"""What a training records, told again from its validation logits alone, slowly."""

import math
import statistics

import numpy as np
import pytest
import torch

from core.errors import Refused
from core.histories import COLUMNS, History
from core.library.history import from_events
from core.losses.bins import GammaUpdate, ValidationBins
from core.losses.catalogue import LOSSES
from core.models.small_images import SmallCnn
from core.predictions import Outcomes
from core.screens.gamma.figures import HistoryGrid
from core.screens.gamma.words import follows, learned
from core.training import distributions, loop
from core.training.loop import LOSS_ROWS, EpochUpdate, answers, measure, row_gradient_norms
from core.training.parts import predict, seed_all
from tests.reference import slow_losses

ADAFOCAL = {"name": "adafocal", "n_bins": 15, "lambda": 1.0, "s_th": 0.2}


def softmax_rows(logits):
    return [slow_losses._softmax([float(z) for z in row]) for row in logits]


def replayed(logits, labels, *, n_bins, rate=1.0):
    """Bins and gammas of each epoch, one row and one bin at a time."""
    gammas = [1.0] * n_bins
    for epoch in logits:
        p = softmax_rows(epoch)
        confidence = [max(row) for row in p]
        correct = [row.index(max(row)) == y for row, y in zip(p, labels, strict=True)]
        edges, table = slow_losses.equal_mass_bins(confidence, correct, n_bins)
        gaps = [c - a if count else 0.0 for count, c, a in table]
        moved = [
            slow_losses.adafocal_gamma(gamma, gap, rate=rate)
            for gamma, gap in zip(gammas, gaps, strict=True)
        ]
        gammas = [gamma for gamma, _ in moved]
        yield edges, table, gaps, gammas


def test_bins_and_gammas_follow_from_the_validation_logits_alone(trainer):
    parts, folder, _ = trainer(loss=ADAFOCAL, epochs=8, n_train=400)
    logits, labels = folder.validation(), parts.targets["val"].tolist()
    assert logits.shape == (8, 300, 10)
    found = [line["bins"] for line in folder.events()]
    switched = 0
    for bins, (edges, table, gaps, gammas) in zip(
        found, replayed(logits, labels, n_bins=15), strict=True
    ):
        assert [b["bin"] for b in bins] == list(range(15))
        assert [b["lower"] for b in bins] == pytest.approx(edges[:-1], abs=1e-9)
        assert [b["upper"] for b in bins] == pytest.approx(edges[1:], abs=1e-9)
        assert [b["count"] for b in bins] == [count for count, *_ in table]
        assert [b["gap"] for b in bins] == pytest.approx(gaps, abs=1e-9)
        assert [b["gamma"] for b in bins] == pytest.approx(gammas, abs=1e-6)
        for b, (count, confidence, accuracy) in zip(bins, table, strict=True):
            assert (b["confidence"] is None) == (count == 0)
            if count:
                assert b["confidence"] == pytest.approx(confidence, abs=1e-9)
                assert b["accuracy"] == pytest.approx(accuracy, abs=1e-9)
        switched += sum(b["gamma"] < 0 for b in bins)
    assert parts.loss.gamma.tolist() == pytest.approx(gammas, abs=1e-6)
    assert parts.loss.edges.tolist() == pytest.approx(edges, abs=1e-9)
    assert len({tuple(b["gamma"] for b in bins) for bins in found}) == 8


def test_a_step_with_stored_gammas_has_the_gradient_of_the_reference(trainer):
    """Of the last layer's bias: its gradient is the mean over rows of the loss by the logits."""
    parts, folder, _ = trainer(loss=ADAFOCAL, epochs=3, augment=False)
    bins = folder.events()[-1]["bins"]
    state = {
        "edges": [b["lower"] for b in bins] + [bins[-1]["upper"]],
        "gamma": [b["gamma"] for b in bins],
    }
    rows = parts.rows[:20]
    (images,) = parts.data.train.images([rows], parts.fabric.device)
    targets = parts.targets["train"][rows]
    parts.net.eval()
    logits = parts.net(parts.normalise(images))
    parts.net.zero_grad()
    parts.loss(logits, targets).backward()
    found = parts.last_layer.bias.grad.double().tolist()
    wanted = np.zeros(10)
    for row, y in zip(logits.detach().double().tolist(), targets.tolist(), strict=True):
        for k in range(10):
            up, down = list(row), list(row)
            up[k], down[k] = row[k] + 1e-5, row[k] - 1e-5
            p = slow_losses._softmax(row)[y]
            b = slow_losses.bin_of(p, state["edges"])
            gamma = state["gamma"][b]  # no gradient flows through the choice
            wanted[k] += (loss_of(up, y, gamma) - loss_of(down, y, gamma)) / 2e-5
    assert found == pytest.approx((wanted / len(rows)).tolist(), abs=2e-6)


def loss_of(row, y, gamma):
    p = slow_losses._softmax(row)[y]
    base = 1 - p if gamma > 0 else 1 + p
    return -(base ** abs(gamma)) * math.log(p)


def test_training_confidence_of_a_bin_is_the_mean_over_its_training_rows(trainer):
    """With a learning rate of almost 0 every batch of the epoch sees the same network."""
    parts, folder, _ = trainer(
        loss=ADAFOCAL, epochs=1, augment=False, optimizer={"lr": 1e-12}, seed=3
    )
    (images,) = parts.data.train.images([parts.rows], parts.fabric.device)
    with torch.no_grad():
        logits = parts.net(parts.normalise(images)).tolist()
    labels = parts.targets["train"][parts.rows].tolist()
    p = [slow_losses._softmax(row)[y] for row, y in zip(logits, labels, strict=True)]
    bins = folder.events()[0]["bins"]
    edges = [b["lower"] for b in bins] + [bins[-1]["upper"]]
    inside = [[] for _ in bins]
    for value in p:
        inside[slow_losses.bin_of(value, edges)].append(value)
    for b, values in zip(bins, inside, strict=True):
        if values:
            assert b["train_confidence"] == pytest.approx(sum(values) / len(values), abs=1e-6)
        else:
            assert b["train_confidence"] is None
    assert sum(map(len, inside)) == 150
    metrics = folder.events()[0]["metrics"]
    assert metrics["train_p_true"] == pytest.approx(sum(p) / 150, abs=1e-6)
    wrong = [row.index(max(row)) != y for row, y in zip(logits, labels, strict=True)]
    missed = [value for value, off in zip(p, wrong, strict=True) if off]
    claims = [max(slow_losses._softmax(row)) for row, off in zip(logits, wrong, strict=True) if off]
    assert metrics["train_error"] == pytest.approx(sum(wrong) / 150)
    norms = [math.hypot(*row) for row in logits]
    assert metrics["train_logit_norm"] == pytest.approx(sum(norms) / 150, rel=1e-6)
    assert metrics["train_p_true_wrong"] == pytest.approx(sum(missed) / len(missed), abs=1e-6)
    nll = -math.fsum(map(math.log, missed)) / len(missed)
    assert metrics["train_nll_wrong"] == pytest.approx(nll, abs=1e-5)
    assert metrics["train_confidence_wrong"] == pytest.approx(sum(claims) / len(claims), abs=1e-6)


def test_when_training_rows_were_learned_is_recorded_at_the_end(trainer):
    """Told again from every output while it trained, row by row; through a resume as well."""
    torch.manual_seed(1)  # of these weights some rows are learned in each epoch
    answered, net = [], SmallCnn(1, 10)
    net.register_forward_hook(
        lambda net, _, out: answered.extend(out.tolist()) if net.training else None
    )
    settings = {"loss": {"name": "ce"}, "epochs": 3, "n_train": 70, "last_batch": "drop"}
    trainer(seconds=0.0, net=lambda: net, **settings)
    parts, folder, _ = trainer(net=lambda: net, **settings)
    *before, last = folder.events()
    truth, wrong, largest = parts.targets["train"].tolist(), {}, {}
    for epoch in range(1, 4):
        order = torch.randperm(70, generator=seed_all(0, epoch, 0))
        seen = parts.rows[order][:64].tolist()
        rows, answered = answered[:64], answered[64:]
        for row, logits in zip(seen, rows, strict=True):
            if logits.index(max(logits)) != truth[row]:
                wrong[row] = epoch
        largest = {row: max(logits) for row, logits in zip(seen, rows, strict=True)}
    groups = [[z for row, z in largest.items() if wrong.get(row, 0) == g] for g in range(4)]
    assert (answered, min(map(len, groups)) > 0) == ([], True)
    for g, group in enumerate(groups):  # the last of rows that were wrong at the end
        counts = [last["metrics"].get(f"train_learned.{b}.of{g}", 0) for b in range(20)]
        assert sum(counts) == len(group)
        assert last["metrics"][f"train_learned.{g}.median"] == pytest.approx(
            statistics.median(group)
        )
    assert last["metrics"]["train_learned.19.upper"] == pytest.approx(max(largest.values()))
    assert not [name for line in before for name in line["metrics"] if "learned" in name]


def test_the_test_part_is_measured_by_epoch_where_it_is_chosen(trainer, digits):
    parts, folder, _ = trainer(loss={"name": "ce"}, epochs=2, test_curves=True)
    logits = predict(parts, digits.test).numpy()
    found = measure(answers(logits, digits.test.targets.numpy(), digits.task), "test")
    last = folder.events()[-1]["metrics"]
    assert {key: last[key] for key in found} == pytest.approx(found)
    norms = [math.sqrt(sum(z * z for z in row)) for row in folder.validation()[-1].tolist()]
    assert last["val_logit_norm"] == pytest.approx(sum(norms) / len(norms))
    _, plain, _ = trainer("plain", loss={"name": "ce"}, epochs=2)
    same = {key: v for key, v in last.items() if key.startswith(("val_", "train_"))}
    unseen = plain.events()[-1]["metrics"]
    assert {key: unseen[key] for key in same} == same  # it steers nothing
    assert not [key for key in unseen if key.startswith("test_")]


def test_scores_of_each_epoch_follow_from_its_validation_logits(trainer):
    parts, folder, _ = trainer(loss={"name": "focal", "gamma": 2.0})
    labels = parts.targets["val"].numpy()
    for line, logits in zip(folder.events(), folder.validation(), strict=True):
        wanted = measure(answers(logits, labels, parts.data.task))
        for name, value in wanted.items():
            assert line["metrics"][name] == pytest.approx(value, abs=1e-12)
        p = [row[y] for row, y in zip(softmax_rows(logits), labels, strict=True)]
        focal = [-((1 - q) ** 2) * math.log(q) for q in p]
        assert line["metrics"]["val_loss"] == pytest.approx(sum(focal) / len(p), abs=1e-6)
        assert line["metrics"]["val_nll"] == pytest.approx(
            -sum(map(math.log, p)) / len(p), abs=1e-6
        )


@pytest.mark.parametrize(("reduction", "clip"), [("mean", None), ("sum", 2.0)])
def test_norms_and_loss_of_an_epoch_are_those_of_its_batches(reduction, clip, trainer):
    """With a learning rate of almost 0 every batch sees the same network."""
    parts, folder, _ = trainer(
        loss={"name": "ce"}, epochs=1, augment=False, optimizer={"lr": 1e-12, "weight_decay": 0.0},
        reduction=reduction, clip_norm=clip,
    )  # fmt: skip
    order = parts.rows[torch.randperm(150, generator=seed_all(0, 1, 0))]
    norms, last, losses = [], [], []
    for rows in order.split(32):
        (images,) = parts.data.train.images([rows], parts.fabric.device)
        parts.net.zero_grad()
        value = parts.loss(parts.net(parts.normalise(images)), parts.targets["train"][rows])
        value.backward()
        losses.append(value.item() * (len(rows) if reduction == "mean" else 1))
        grads = [p.grad.double() for p in parts.net.parameters()]
        norms.append(math.sqrt(sum(float((g**2).sum()) for g in grads)))
        last.append(float(parts.last_layer.weight.grad.norm()))
    metrics = folder.events()[0]["metrics"]
    assert metrics["train_loss"] == pytest.approx(sum(losses) / 150, rel=1e-5)
    assert metrics["grad_norm"] == pytest.approx(sum(norms) / 5, rel=1e-4)
    assert metrics["last_layer_grad_norm"] == pytest.approx(sum(last) / 5, rel=1e-4)
    weight = parts.last_layer.weight.detach().double().numpy()
    assert metrics["last_layer_norm"] == pytest.approx(np.sqrt((weight**2).sum()), rel=1e-12)


def test_gradients_are_clipped_to_the_norm_asked_for(trainer):
    """One step from the start: weights move by the rate times a gradient of that norm."""
    start, *_ = trainer(
        "start", n_train=32, epochs=1, optimizer={"lr": 1e-12, "weight_decay": 0.0}, augment=False,
        loss={"name": "ce"}, reduction="sum", clip_norm=2.0,
    )  # fmt: skip
    moved, *_ = trainer(
        "moved", n_train=32, epochs=1, optimizer={"lr": 0.5, "weight_decay": 0.0}, augment=False,
        loss={"name": "ce"}, reduction="sum", clip_norm=2.0,
    )  # fmt: skip
    pairs = zip(start.net.parameters(), moved.net.parameters(), strict=True)
    square = sum(float(((a - b).detach().double() ** 2).sum()) for a, b in pairs)
    assert math.sqrt(square) == pytest.approx(0.5 * 2.0, rel=1e-4)


def test_gammas_can_be_updated_every_few_batches(trainer):
    """Of 150 images in batches of 32 are 5 batches an epoch; every 3 makes 6 updates in 4."""
    parts, folder, _ = trainer(loss={**ADAFOCAL, "update_every": 3}, epochs=4)
    assert parts.n_batches == 20
    _, bins = from_events(folder.lines())
    assert bins.epoch[bins.bin == 0].tolist() == [0, 1, 1, 2, 2, 3]
    trained = np.array([3, 6, 9, 12, 15, 18]) / 5
    np.testing.assert_allclose(bins.trained[bins.bin == 0], trained, rtol=1e-12)
    known = learned(parts.config.loss, HistoryGrid.of(bins))  # each gamma follows from the last
    assert follows(HistoryGrid.of(bins), known.rule, 1e-9).all()
    rare, folder, _ = trainer("rare", loss={**ADAFOCAL, "update_every": 7}, epochs=4)
    assert [bool(line["bins"]) for line in folder.events()] == [False, True, True, False]
    assert rare.net.training


def test_gammas_can_be_updated_ever_more_often(trainer):
    """Of 5 batches an epoch: at the end of the first, every 2 in the second, then after each."""
    loss = {**ADAFOCAL, "update_every": "epoch, 2 from 1, 1 from 2"}
    _, folder, _ = trainer(loss=loss, epochs=3)
    _, bins = from_events(folder.lines())
    ends = np.array([5, 6, 8, 10, 11, 12, 13, 14, 15]) / 5
    np.testing.assert_allclose(bins.trained[bins.bin == 0], ends, rtol=1e-12)


def test_training_confidence_is_that_of_the_rows_since_the_update_before():
    """Steps of 2 rows and bins of [0, 0.5) and [0.5, 1]; the last step follows every update."""
    bins = ValidationBins(
        np.array([0.1, 0.5, 0.9]), np.array([3, 2]), np.array([0.3, 0.7]), np.array([0.3, 0.7])
    )
    made = [
        EpochUpdate(2 * n, n / 4, GammaUpdate(bins, np.ones(2), np.zeros(2, bool))) for n in (1, 3)
    ]
    p = np.array([0.25, 0.75, 0.5, 1.0, 0.75, 0.875, 0.0, 0.0])
    rows = loop._bins(6, made, p)
    assert [row["train_confidence"] for row in rows] == [0.25, 0.75, None, 0.78125]
    assert [row["trained"] for row in rows] == [6.25, 6.25, 6.75, 6.75]


def test_bins_by_hand_of_any_loss(monkeypatch):
    """Edges .5, .75 and .9; of training three rows lie below .75, its own bins have two each."""
    monkeypatch.setattr(distributions, "N_BINS", 2)
    validation = Outcomes(np.array([0.9, 0.5, 0.7, 0.8, 0.6]), np.array([1, 1, 0, 1, 1], bool))
    p_true, top = np.array([1.0, 0.25, 0.5, 0.625]), np.array([1.0, 0.75, 0.5, 0.625])
    found = distributions.correspondence(validation, p_true, top)
    by_hand = {
        "lower": (0.5, 0.75), "upper": (0.75, 0.9), "count": (2, 2), "confidence": (0.65, 0.85),
        "accuracy": (0.5, 1.0), "train": (1.375 / 3, 1.0), "train_top": (0.5625, 0.875),
        "train_own": (0.375, 0.8125), "own_lower": (0.25, 0.625), "own_upper": (0.5, 1.0),
    }  # fmt: skip
    for name, values in by_hand.items():
        for b, value in enumerate(values):
            assert found.pop(f"val_bins.{b}.{name}") == pytest.approx(value, rel=1e-12)
    assert not found


def test_bins_of_any_loss_are_those_that_adafocal_looks_at(trainer):
    _, folder, _ = trainer(loss=ADAFOCAL, epochs=3)
    history, bins = from_events(folder.lines())
    found, _ = distributions.validation_history(history)
    for name in {*COLUMNS} - {"gamma"}:
        np.testing.assert_allclose(getattr(found, name), getattr(bins, name), rtol=1e-12)


def test_bins_that_begin_with_a_resume_keep_the_number_of_their_epoch():
    parts = {"lower": 0.0, "upper": 1.0, "count": 4.0, "confidence": 0.75, "accuracy": 0.5}
    names = [f"val_bins.{b}.{name}" for name in (*parts, "train") for b in range(15)]
    values = [value for value in (*parts.values(), 0.625) for _ in range(15)]
    epochs = np.array([0, 1, *[2] * len(names)])
    history = History(epochs, ("val_nll", "val_nll", *names), np.array([0.5, 0.5, *values]))
    found, _ = distributions.validation_history(history)
    assert (set(found.epoch.tolist()), set(found.trained.tolist())) == ({2}, {3.0})


def test_the_logits_kept_of_an_epoch_are_those_of_its_last_weights(trainer):
    """Also where gammas were last updated two batches before the end."""
    parts, folder, _ = trainer(loss={**ADAFOCAL, "update_every": 3}, seconds=0.0)
    assert parts.n_batches == 5
    found = predict(parts, parts.data.val).numpy()
    np.testing.assert_array_equal(folder.validation()[-1], found)


def test_validation_loss_weighs_blocks_by_their_rows(trainer, monkeypatch):
    """300 rows in blocks of 128, 128 and 44."""
    monkeypatch.setattr(loop, "LOSS_ROWS", 128)
    _, folder, _ = trainer(loss={"name": "ce"}, epochs=1)
    metrics = folder.events()[0]["metrics"]
    assert metrics["val_loss"] == pytest.approx(metrics["val_nll"], rel=1e-6)


def test_the_schedule_of_a_loss_follows_the_epochs(trainer):
    parts, *_ = trainer(loss={"name": "fls_531"}, epochs=7, n_train=32)
    assert float(parts.loss.gamma) == 1.0
    parts, *_ = trainer("early", loss={"name": "fls_531"}, epochs=7, n_train=32, seconds=0.0)
    assert float(parts.loss.gamma) == 5.0


def test_a_training_that_diverges_says_so(trainer):
    with pytest.raises(Refused, match="are not all numbers"):
        trainer(loss={"name": "ce"}, optimizer={"lr": 1000.0}, epochs=6)


CLIPPED = {"mmce_weighted": {"clip_norm": 1.0, "batch_size": 32}}  # its root is steep at the start


# A loss of rows, one of pairs, one led by validation and one of two terms are trained each night
# until they know digits; `make soak` does so with all of them.
LEARNED = ("ce", "mmce", "adafocal", "fcl")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss", "epochs", "error"),
    [
        *[
            pytest.param(
                loss, *((40, 0.05) if loss in LEARNED else (10, 0.3)), marks=pytest.mark.nightly
            )
            for loss in LOSSES
        ],
        *[
            pytest.param(loss, 40, 0.05, marks=pytest.mark.soak)
            for loss in LOSSES
            if loss not in LEARNED
        ],
    ],
)
def test_every_loss_learns_digits(loss, epochs, error, trainer, digits):
    """On the 500 test images; the validation part may steer gammas, this one nothing."""
    settings = {"n_train": None, "batch_size": 128, "epochs": epochs, **CLIPPED.get(loss, {})}
    parts, _, trained = trainer(loss={"name": loss}, **settings)
    assert trained.finished
    logits = predict(parts, digits.test).numpy()
    found = measure(answers(logits, digits.test.targets.numpy(), digits.task))
    assert found["val_error"] < error
    assert 0 <= found["val_ece"] < 0.5


def test_losses_of_pairs_see_the_validation_part_in_pieces(trainer):
    assert LOSS_ROWS >= 300
    parts, folder, _ = trainer(loss={"name": "mmce"}, epochs=1)
    logits = torch.from_numpy(folder.validation()[0])
    wanted = slow_losses.batch_loss(
        "mmce", {"lambda": 2.0}, logits, parts.targets["val"], multilabel=False
    )
    assert folder.events()[0]["metrics"]["val_loss"] == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_gradient_norms_are_those_of_each_row_alone(trainer, reduction):
    changes = {"batch_size": 8, "epochs": 1, "reduction": reduction}
    parts, folder, _ = trainer(loss={"name": "focal", "gamma": 2.0}, **changes)
    assert parts.at_once == 64  # so the rows come in three pieces
    norms = row_gradient_norms(parts)
    assert len(norms) == 150
    weight = parts.last_layer.weight
    parts.net.eval()
    for i in (0, 77, 149):
        row = parts.rows[i : i + 1]
        (images,) = parts.data.train.images([row], parts.fabric.device)
        loss = parts.loss(parts.net(parts.normalise(images)), parts.targets["train"][row])
        (by_weight,) = torch.autograd.grad(loss, weight)
        assert norms[i] == pytest.approx(float(by_weight.norm()), rel=1e-4)
    last = folder.events()[-1]["metrics"]
    shares = [value for name, value in last.items() if name.startswith("row_grad_norm.")]
    assert sum(shares) == pytest.approx(1.0)
    rows = [v for name, v in last.items() if name.startswith("train_bins.") and "count" in name]
    assert sum(rows) == 150
