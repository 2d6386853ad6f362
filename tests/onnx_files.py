"""Files of ONNX, written field by field as onnx.proto numbers them."""

import numpy as np

FLOAT, UINT8 = 1, 2


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def message(**fields):
    """Write fields named f1, f2, ...: whole numbers, texts, bytes, or lists of these."""
    out = b""
    for name, values in fields.items():
        number = int(name[1:])
        for value in values if isinstance(values, list) else [values]:
            if isinstance(value, int):
                out += varint(number << 3) + varint(value)
            else:
                raw = value.encode() if isinstance(value, str) else value
                out += varint(number << 3 | 2) + varint(len(raw)) + raw
    return out


def tensor(name, array):
    array = np.asarray(array)
    kind = {"f": FLOAT, "i": 7}[array.dtype.kind]
    return message(f1=list(array.shape), f2=kind, f8=name, f9=array.tobytes())


def node(operator, taken, given, domain="", attributes=()):
    return message(f1=list(taken), f2=[given], f4=operator, f5=list(attributes), f7=domain)


def value(name, kind, sizes):
    dims = [message(f1=n) if isinstance(n, int) else message(f2=n) for n in sizes]
    return message(f1=name, f2=message(f1=message(f1=kind, f2=message(f1=dims))))


def axis(number):
    return message(f1="axis", f3=number, f20=2)


def model(nodes, weights, *, shape=("n", 3, 8, 8), kind=FLOAT, outputs=("n", 10), **more):
    graph = message(
        f1=nodes, f2="main", f5=weights, f11=[value("images", kind, shape)],
        f12=[value("out", FLOAT, outputs)],
    )  # fmt: skip
    return message(f1=8, f2="pytorch", f3="2.15", f7=graph, f8=[message(f2=17)], **more)


def linear(channels=1, side=8, n_outputs=10, **more):
    """Return a linear network on images as a file; its weights are random."""
    weight = np.random.default_rng(4).normal(0, 0.3, (channels * side * side, n_outputs))
    flat = node("Flatten", ["images"], "flat", attributes=[axis(1)])
    return model(
        [flat, node("Gemm", ["flat", "w"], "out")],
        [tensor("w", weight.astype(np.float32))],
        shape=("n", channels, side, side),
        outputs=("n", n_outputs),
        **more,
    )
