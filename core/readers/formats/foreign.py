"""Models of other programs, known by their first bytes or by what is packed in them."""

import re
from collections.abc import Collection

ONNX = "an ONNX model"
MODELS = {
    re.compile(rb"\x08[\x03-\x20][\x12\x3a\x42]"): ONNX,  # from version 3, of 2017
    re.compile(rb"\x08\x01\x12"): "a TensorFlow SavedModel",
    re.compile(rb"GGUF"): "a GGUF file of weights",
    re.compile(rb".{4}TFL3", re.DOTALL): "a TensorFlow Lite model",
    re.compile(rb"\x89HDF"): "an HDF5 file, as Keras writes weights",
}
RUN_IT = (
    "of a model, run it and save its outputs (logits or probabilities) with the labels as .npz; "
    "save arrays as .npz too"
)
EXPORT = (
    "export the weights from PyTorch: torch.save(model.state_dict(), 'weights.pt'); or run the "
    "model with assets/predict_to_file.py and upload the predictions"
)
AS_ONNX = (
    "export it as ONNX with torch.onnx.export(..., external_data=False), or run it with "
    "assets/predict_to_file.py and upload the predictions"
)
KERAS = "a Keras model"
EXPORTED = "a program of torch.export, whose loading may run code from the file"


def model_of(head: bytes) -> str:
    """Return what kind of model begins like this; empty if none does."""
    return next((kind for start, kind in MODELS.items() if start.match(head)), "")


def packed_model(names: Collection[str]) -> str:
    """Return what kind of model an archive with these members is; empty if none."""
    if any(name.rpartition("/")[2] == "archive_format" for name in names):
        return EXPORTED
    keras = "model.weights.h5" in names or {"config.json", "metadata.json"} <= set(names)
    return KERAS if keras else ""
