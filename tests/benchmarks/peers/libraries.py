"""What other libraries do for each workload, called as their documentation has it.

Each function imports its library itself, takes the data in memory and returns named numbers.
Checks of the input that a library lets its users switch off are switched off.
"""

import numpy as np

from tests.benchmarks.peers.data import Data, Scores
from tests.benchmarks.peers.ours import LEVEL, N_BINS, RESAMPLES, Values

GRID = tuple(k / 10 for k in range(1, 101))
KEEP = 0.95  # of the out-of-distribution rows, at the threshold of the false-positive rate


def tensors(data: Data):
    import torch

    return torch.from_numpy(data.logits), torch.from_numpy(data.labels)


def probabilities(data: Data) -> np.ndarray:
    """Return the softmax in the precision of the logits."""
    from scipy.special import softmax

    return softmax(data.logits, axis=1)


def answers(data: Data) -> tuple[np.ndarray, np.ndarray]:
    p = probabilities(data)
    return p.max(axis=1), p.argmax(axis=1) == data.labels


# ECE over equal-width bins ------------------------------------------------------------------------


def scipy_gap(confidence: np.ndarray, correct: np.ndarray) -> float:
    from scipy.stats import binned_statistic

    sums = binned_statistic(confidence, confidence - correct, "sum", N_BINS, range=(0, 1))
    return float(np.abs(sums.statistic).sum() / confidence.size)


def scipy_ece(data: Data) -> Values:
    return {"ece": scipy_gap(*answers(data))}


def relplot_ece(data: Data) -> Values:
    from relplot.metrics import binnedECE, multiclass_logits_to_confidences

    confidence, correct = multiclass_logits_to_confidences(data.logits, data.labels)
    return {"ece": float(binnedECE(confidence, correct, nbins=N_BINS))}


def torchmetrics_ece(data: Data) -> Values:
    from torchmetrics.functional.classification import multiclass_calibration_error

    z, y = tensors(data)
    k = z.shape[1]
    return {"ece": float(multiclass_calibration_error(z, y, k, N_BINS, validate_args=False))}


def torch_uncertainty_ece(data: Data) -> Values:
    from torch_uncertainty.metrics import CalibrationError

    z, y = tensors(data)
    metric = CalibrationError(
        "multiclass", num_bins=N_BINS, num_classes=z.shape[1], validate_args=False
    )
    metric.update(z.softmax(dim=1), y)
    return {"ece": float(metric.compute())}


def probmetrics_ece(data: Data) -> Values:
    from probmetrics.metrics import Metrics

    z, y = tensors(data)
    name = f"ece-{N_BINS}"
    return {"ece": float(Metrics.from_names([name]).compute_all_from_labels_logits(y, z)[name])}


def netcal_ece(data: Data) -> Values:
    from netcal.metrics import ECE

    return {"ece": float(ECE(N_BINS).measure(probabilities(data), data.labels))}


def uncertainty_calibration_ece(data: Data) -> Values:
    from calibration import get_ece

    return {"ece": float(get_ece(probabilities(data), data.labels, num_bins=N_BINS))}


# Accuracy, NLL, Brier and ECE ---------------------------------------------------------------------


def scikit_learn_proper(data: Data) -> Values:
    """It has no ECE: that is SciPy's."""
    from sklearn.metrics import accuracy_score, brier_score_loss, log_loss

    p = probabilities(data)
    best, kinds = p.argmax(axis=1), np.arange(p.shape[1])
    return {
        "accuracy": accuracy_score(data.labels, best),
        "nll": log_loss(data.labels, p, labels=kinds),
        "brier": brier_score_loss(data.labels, p, labels=kinds, scale_by_half=False),
        "ece": scipy_gap(p.max(axis=1), best == data.labels),
    }


def torch_uncertainty_proper(data: Data) -> Values:
    from torch_uncertainty.metrics import BrierScore, CalibrationError, CategoricalNLL
    from torchmetrics.classification import MulticlassAccuracy

    z, y = tensors(data)
    k, p = z.shape[1], z.softmax(dim=1)
    metrics = {
        "accuracy": MulticlassAccuracy(k, average="micro", validate_args=False),
        "nll": CategoricalNLL(),
        "brier": BrierScore(k),
        "ece": CalibrationError("multiclass", num_bins=N_BINS, num_classes=k, validate_args=False),
    }
    for metric in metrics.values():
        metric.update(p, y)
    return {name: float(metric.compute()) for name, metric in metrics.items()}


def probmetrics_proper(data: Data) -> Values:
    from probmetrics.metrics import Metrics

    names = {"accuracy": "accuracy", "nll": "logloss", "brier": "brier", "ece": f"ece-{N_BINS}"}
    z, y = tensors(data)
    values = Metrics.from_names([*names.values()]).compute_all_from_labels_logits(y, z)
    return {name: float(values[key]) for name, key in names.items()}


# ECE over bins of equal counts --------------------------------------------------------------------


def torch_uncertainty_equal_mass(data: Data) -> Values:
    from torch_uncertainty.metrics import AdaptiveCalibrationError

    z, y = tensors(data)
    metric = AdaptiveCalibrationError("multiclass", num_bins=N_BINS, num_classes=z.shape[1])
    metric.update(z.softmax(dim=1), y)
    return {"ece_em": float(metric.compute())}


def netcal_equal_mass(data: Data) -> Values:
    from netcal.metrics import ECE

    metric = ECE(N_BINS, equal_intervals=False)
    return {"ece_em": float(metric.measure(probabilities(data), data.labels))}


def uncertainty_calibration_equal_mass(data: Data) -> Values:
    from calibration import get_ece_em

    return {"ece_em": float(get_ece_em(probabilities(data), data.labels, num_bins=N_BINS))}


# Smooth ECE ---------------------------------------------------------------------------------------


def relplot_smooth(data: Data) -> Values:
    import relplot

    confidence, correct = relplot.multiclass_logits_to_confidences(data.logits, data.labels)
    return {"smece": float(relplot.smECE(confidence, correct))}


def torch_uncertainty_smooth(data: Data) -> Values:
    from torch_uncertainty.metrics import SmoothCalibrationError

    z, y = tensors(data)
    metric = SmoothCalibrationError(kernel_type="reflected")
    metric.update(z.softmax(dim=1), y)
    return {"smece": float(metric.compute())}


def probmetrics_smooth(data: Data) -> Values:
    from probmetrics.metrics import Metrics

    z, y = tensors(data)
    values = Metrics.from_names(["smece"]).compute_all_from_labels_logits(y, z)
    return {"smece": float(values["smece"])}


# The temperature of the smallest NLL --------------------------------------------------------------


def scikit_learn_temperature(data: Data) -> Values:
    """Without CalibratedClassifierCV, which would add its folds around the same fit."""
    from sklearn.calibration import _TemperatureScaling

    return {"temperature": 1.0 / float(_TemperatureScaling().fit(data.logits, data.labels).beta_)}


def torch_uncertainty_temperature(data: Data) -> Values:
    from torch_uncertainty.post_processing import TemperatureScaler

    scaler = TemperatureScaler()
    scaler.fit([tensors(data)], progress=False)
    return {"temperature": float(scaler.temperature[0])}


def probmetrics_temperature(data: Data) -> Values:
    from probmetrics.calibrators import TemperatureScalingCalibrator
    from probmetrics.distributions import CategoricalLogits

    z, y = tensors(data)
    calibrator = TemperatureScalingCalibrator().fit_torch(CategoricalLogits(z), y)
    return {"temperature": 1.0 / float(calibrator.invtemp_)}


def netcal_temperature(data: Data) -> Values:
    from netcal.scaling import TemperatureScaling

    scaling = TemperatureScaling().fit(probabilities(data), data.labels, tensorboard=False)
    return {"temperature": 1.0 / float(np.ravel(scaling.temperature)[0])}


# The temperature of the smallest ECE on a grid ----------------------------------------------------


def scipy_grid(data: Data) -> Values:
    return {"ece": min(scipy_ece(Data(data.logits / t, data.labels))["ece"] for t in GRID)}


def relplot_grid(data: Data) -> Values:
    return {"ece": min(relplot_ece(Data(data.logits / t, data.labels))["ece"] for t in GRID)}


def torchmetrics_grid(data: Data) -> Values:
    return {"ece": min(torchmetrics_ece(Data(data.logits / t, data.labels))["ece"] for t in GRID)}


# Classwise ECE ------------------------------------------------------------------------------------


def torch_uncertainty_classwise(data: Data) -> Values:
    from torch_uncertainty.metrics import ClasswiseCalibrationError

    z, y = tensors(data)
    metric = ClasswiseCalibrationError(z.shape[1], num_bins=N_BINS)
    metric.update(z.softmax(dim=1), y)
    return {"classwise_ece": float(metric.compute())}


def torchmetrics_classwise(data: Data) -> Values:
    from torchmetrics.functional.classification import binary_calibration_error

    z, y = tensors(data)
    p = z.softmax(dim=1)
    errors = [
        float(binary_calibration_error(p[:, k], y == k, N_BINS, validate_args=False))
        for k in range(p.shape[1])
    ]
    return {"classwise_ece": float(np.mean(errors))}


def netcal_classwise(data: Data) -> Values:
    from netcal.metrics import ECE

    p, metric = probabilities(data), ECE(N_BINS)
    errors = [metric.measure(p[:, k], (data.labels == k).astype(int)) for k in range(p.shape[1])]
    return {"classwise_ece": float(np.mean(errors))}


def uncertainty_calibration_classwise(data: Data) -> Values:
    from calibration import get_ece

    error = get_ece(probabilities(data), data.labels, num_bins=N_BINS, mode="marginal")
    return {"classwise_ece": float(error)}


# Resamples of the ECE -----------------------------------------------------------------------------


def scipy_resamples(data: Data) -> Values:
    from scipy.stats import bootstrap

    interval = bootstrap(
        answers(data),
        scipy_gap,
        n_resamples=RESAMPLES,
        paired=True,
        vectorized=False,
        batch=10,
        confidence_level=LEVEL,
        method="percentile",
        rng=0,
    ).confidence_interval
    return {"low": float(interval.low), "high": float(interval.high)}


def torchmetrics_resamples(data: Data) -> Values:
    import torch
    from torchmetrics.classification import BinaryCalibrationError
    from torchmetrics.wrappers import BootStrapper

    torch.manual_seed(0)
    confidence, correct = (torch.from_numpy(part) for part in answers(data))
    metric = BootStrapper(
        BinaryCalibrationError(N_BINS, validate_args=False),
        num_bootstraps=RESAMPLES,
        mean=False,
        std=False,
        quantile=torch.tensor([(1 - LEVEL) / 2, (1 + LEVEL) / 2]),
        sampling_strategy="multinomial",
    )
    metric.update(confidence, correct)
    low, high = metric.compute()["quantile"].tolist()
    return {"low": low, "high": high}


# Out-of-distribution detection --------------------------------------------------------------------


def scikit_learn_separation(scores: Scores) -> Values:
    from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

    truth = np.r_[np.zeros(scores.inside.size), np.ones(scores.outside.size)]
    values = np.r_[scores.inside, scores.outside]
    alarms, hits, _ = roc_curve(truth, values, drop_intermediate=False)
    return {
        "auroc": roc_auc_score(truth, values),
        "aupr_in": average_precision_score(1 - truth, -values),
        "aupr_out": average_precision_score(truth, values),
        "fpr95": float(alarms[np.argmax(hits >= KEEP)]),
    }


def pytorch_ood_separation(scores: Scores) -> Values:
    """Labels below 0 are positive there."""
    import torch
    from pytorch_ood.metrics import AUPR, AUROC, FPRAtTPR, MetricCollection

    metrics = MetricCollection([AUROC(), AUPR("id"), AUPR("ood"), FPRAtTPR(KEEP)])
    labels = torch.from_numpy(np.r_[np.zeros(scores.inside.size), -np.ones(scores.outside.size)])
    metrics.update(scores=torch.from_numpy(np.r_[scores.inside, scores.outside]), labels=labels)
    names = {"auroc": "AUROC", "aupr_in": "AUPR-IN", "aupr_out": "AUPR-OUT", "fpr95": "FPR95TPR"}
    values = metrics.compute()
    return {name: float(values[key]) for name, key in names.items()}


def torch_uncertainty_separation(scores: Scores) -> Values:
    """Area and precision are those of torchmetrics, which it builds on."""
    import torch
    from torch_uncertainty.metrics import FPR95
    from torchmetrics.functional.classification import binary_auroc, binary_average_precision

    values = torch.from_numpy(np.r_[scores.inside, scores.outside])
    truth = torch.from_numpy(np.r_[np.zeros(scores.inside.size), np.ones(scores.outside.size)])
    truth = truth.to(torch.int64)
    rate = FPR95(pos_label=1)
    rate.update(values, truth)
    return {
        "auroc": float(binary_auroc(values, truth, validate_args=False)),
        "aupr_in": float(binary_average_precision(-values, 1 - truth, validate_args=False)),
        "aupr_out": float(binary_average_precision(values, truth, validate_args=False)),
        "fpr95": float(rate.compute()),
    }
