"""Write the predictions of your own network for Candor.

Put this file beside your code, name your data and your network in the import, run it, and
upload predictions.npz under Runs. `network` is whatever takes a batch of images as your loaders
give them and returns logits: a module in evaluation, `torch.export.load("net.pt2").module()`, or
`lambda images: torch.from_numpy(session.run(None, {"input": images.numpy()})[0])` of onnxruntime.
"""

import numpy as np
import torch
from my_project import network, test_loader, val_loader  # yours; batches of (images, labels)

arrays = {}
for part, loader in {"val": val_loader, "test": test_loader}.items():
    with torch.inference_mode():
        batches = [(network(images).float().cpu(), labels.cpu()) for images, labels in loader]
    logits, labels = (torch.cat(column).numpy() for column in zip(*batches, strict=True))
    arrays |= {f"{part}_logits": logits, f"{part}_labels": labels}
np.savez("predictions.npz", **arrays)
