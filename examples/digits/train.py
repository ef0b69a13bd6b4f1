#!/usr/bin/env python3
"""Trains the digit recogniser of the demo and writes digits.onnx and held_back.npy beside this file.

The data are the 1797 handwritten digits (8x8 pixels, 0 to 16) that scikit-learn bundles. A seeded fifth is held back:
it is never trained on, and goes to held_back.npy, a row each: 64 pixels, then the label. The network
is two convolutions, a pooling and two linear layers; forward and backward passes are plain NumPy.

Needs from PyPI: numpy scikit-learn onnx. Run: python3 train.py   (about a minute)"""
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits

rng = np.random.default_rng(7)


def im2col(x):
    """(n, c, h, w) with a border of zeros -> (n, h * w, c * 9): the 3x3 neighbourhood of every pixel."""
    n, c, h, w = x.shape
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    cols = np.stack([padded[:, :, i:i + h, j:j + w] for i in range(3) for j in range(3)], axis=2)
    return cols.reshape(n, c * 9, h * w).transpose(0, 2, 1)


def col2im(cols, shape):
    n, c, h, w = shape
    cols = cols.transpose(0, 2, 1).reshape(n, c, 9, h, w)
    padded = np.zeros((n, c, h + 2, w + 2), np.float32)
    for k in range(9):
        padded[:, :, k // 3:k // 3 + h, k % 3:k % 3 + w] += cols[:, :, k]
    return padded[:, :, 1:-1, 1:-1]


class Conv:
    def __init__(self, cin, cout):
        self.w = rng.standard_normal((cin * 9, cout), np.float32) * np.float32((2 / (cin * 9)) ** 0.5)
        self.b = np.zeros(cout, np.float32)

    def forward(self, x):
        self.shape, self.cols = x.shape, im2col(x)
        y = self.cols @ self.w + self.b
        return y.transpose(0, 2, 1).reshape(x.shape[0], -1, *x.shape[2:])

    def backward(self, g):
        g = g.reshape(g.shape[0], g.shape[1], -1).transpose(0, 2, 1)
        self.grads = [np.einsum("npk,npc->kc", self.cols, g, optimize=True), g.sum((0, 1))]
        return col2im(g @ self.w.T, self.shape)


class Linear:
    def __init__(self, cin, cout):
        self.w = rng.standard_normal((cin, cout), np.float32) * np.float32((2 / cin) ** 0.5)
        self.b = np.zeros(cout, np.float32)

    def forward(self, x):
        self.x = x
        return x @ self.w + self.b

    def backward(self, g):
        self.grads = [self.x.T @ g, g.sum(0)]
        return g @ self.w.T


class Relu:
    def forward(self, x):
        self.mask = x > 0
        return x * self.mask

    def backward(self, g):
        return g * self.mask


class MaxPool:
    """2x2, stride 2."""

    def forward(self, x):
        n, c, h, w = x.shape
        self.x = x
        self.y = x.reshape(n, c, h // 2, 2, w // 2, 2).max((3, 5))
        return self.y

    def backward(self, g):
        def up(a):
            return a.repeat(2, axis=2).repeat(2, axis=3)
        mask = self.x == up(self.y)
        return mask * up(g)


class Flatten:
    def forward(self, x):
        self.shape = x.shape
        return x.reshape(x.shape[0], -1)

    def backward(self, g):
        return g.reshape(self.shape)


def accuracy(layers, x, y):
    for layer in layers:
        x = layer.forward(x)
    return float((x.argmax(1) == y).mean())


def train(layers, x, y, epochs=60, batch=64):
    learned = [layer for layer in layers if hasattr(layer, "w")]
    moments = [[np.zeros_like(p) for p in (layer.w, layer.b) for _ in range(2)] for layer in learned]
    step = 0
    for epoch in range(epochs):
        rate = 2e-3 * 0.5 * (1 + np.cos(np.pi * epoch / epochs))
        order = rng.permutation(len(x))
        for at in range(0, len(x), batch):
            pick = order[at:at + batch]
            shift = rng.integers(-1, 2, 2)
            h = np.roll(x[pick], shift, (2, 3))
            for layer in layers:
                h = layer.forward(h)
            p = np.exp(h - h.max(1, keepdims=True))
            p /= p.sum(1, keepdims=True)
            p[np.arange(len(pick)), y[pick]] -= 1
            g = (p / len(pick)).astype(np.float32)
            for layer in reversed(layers):
                g = layer.backward(g)
            step += 1
            for layer, mom in zip(learned, moments):  # Adam (Kingma, Ba 2015)
                for k, (param, grad) in enumerate(zip((layer.w, layer.b), layer.grads)):
                    m, v = mom[2 * k], mom[2 * k + 1]
                    m += 0.1 * (grad - m)
                    v += 0.001 * (grad * grad - v)
                    param -= (rate * (m / (1 - 0.9 ** step)) / (np.sqrt(v / (1 - 0.999 ** step)) + 1e-8)).astype(np.float32)


def export(layers, path):
    nodes, inits, at = [], [], "image"

    def const(array, name):
        inits.append(numpy_helper.from_array(np.ascontiguousarray(array, np.float32), name))
        return name

    def node(op, ins, **attrs):
        nonlocal at
        out = "logits" if op == "Gemm" and ins[1] == "fc2.weight" else f"{op.lower()}{len(nodes)}"
        nodes.append(helper.make_node(op, ins, [out], name=out, **attrs))
        at = out
    names = iter(("conv1", "conv2", "fc1", "fc2"))
    for layer in layers:
        if isinstance(layer, Conv):
            name = next(names)
            cin = layer.w.shape[0] // 9
            node("Conv", [at, const(layer.w.T.reshape(-1, cin, 3, 3), name + ".weight"), const(layer.b, name + ".bias")],
                 kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        elif isinstance(layer, Linear):
            name = next(names)
            node("Gemm", [at, const(layer.w, name + ".weight"), const(layer.b, name + ".bias")])
        elif isinstance(layer, Relu):
            node("Relu", [at])
        elif isinstance(layer, MaxPool):
            node("MaxPool", [at], kernel_shape=[2, 2], strides=[2, 2])
        else:
            node("Flatten", [at])
    nodes.append(helper.make_node("Softmax", ["logits"], ["probabilities"], axis=1))
    graph = helper.make_graph(nodes, "digits", [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, 8, 8])],
                              [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["batch", 10])], inits)
    model = helper.make_model(graph, producer_name="onyx demo", opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    onnx.save(model, path)


def main():
    here = pathlib.Path(__file__).parent
    data = load_digits()
    images = (data.images[:, None] / 16).astype(np.float32)
    order = np.random.default_rng(1).permutation(len(images))
    held, seen = order[:360], order[360:]
    layers = [Conv(1, 16), Relu(), Conv(16, 32), Relu(), MaxPool(), Flatten(), Linear(512, 64), Relu(), Linear(64, 10)]
    train(layers, images[seen], data.target[seen])
    print(f"trained on {len(seen)} images: {accuracy(layers, images[seen], data.target[seen]):.4f} right; "
          f"of {len(held)} held back: {accuracy(layers, images[held], data.target[held]):.4f}")
    export(layers, here / "digits.onnx")
    rows = np.concatenate([data.images[held].reshape(-1, 64), data.target[held][:, None]], axis=1)
    np.save(here / "held_back.npy", rows.astype(np.uint8))


if __name__ == "__main__":
    main()
