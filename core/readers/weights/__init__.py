"""Files of weights: named tensors, without torch."""
