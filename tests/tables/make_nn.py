#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes nn.atl: outputs of layers and losses, and gradients of a sum of them, for stdlib/tests/nn.atl.

usage: make_nn.py > nn.atl      (Debian: python3-numpy)

Layers are written anew here, straight from their formulas, an element at a time where that is short. Gradients by all parameters and inputs
come from complex steps: Im f(x + ih) / h with h = 1e-30, exact to rounding."""
import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - max(x.real))
    return e / e.sum()


def conv2d(filters, bias, images, height=2, width=3):
    n, rows, columns, channels = images.shape
    out = np.zeros((n, rows - height + 1, columns - width + 1, len(bias)), dtype=images.dtype)
    window = filters.reshape(height, width, channels, len(bias))
    for k, y, x, o in np.ndindex(*out.shape):
        out[k, y, x, o] = (images[k, y:y + height, x:x + width] * window[..., o]).sum() + bias[o]
    return out


def layer_norm(scale, shift, xs):
    centred = xs - xs.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5) * scale + shift


def lstm(weights, hidden, bias, xs):
    n = hidden.shape[0]
    h = c = np.zeros((xs.shape[1], n))
    out = []
    for x in xs:
        i, f, g, o = np.split(x @ weights + h @ hidden + bias, 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        out.append(h)
    return np.array(out)


def attention(q, k, v, o, xs, heads=2, causal=False):
    parts = []
    for a, b, c in zip(*(np.split(xs @ w, heads, axis=1) for w in (q, k, v))):
        rows = []
        for i in range(len(a)):
            seen = i + 1 if causal else len(a)
            rows.append(softmax(b[:seen] @ a[i] / np.sqrt(a.shape[1])) @ c[:seen])
        parts.append(np.array(rows))
    return np.concatenate(parts, axis=1) @ o


def cross_entropy(scores):
    return np.array([np.mean([-np.log(softmax(s)[label]) for s, label in zip(scores, (2, 0, 1))])])


def binary(scores, targets):
    p = sigmoid(scores)
    return np.array([np.mean(-targets * np.log(p) - (1 - targets) * np.log(1 - p))])


def case(rng, name, f, shapes):
    args = [np.round(rng.normal(size=s), 3) for s in shapes]
    out = f(*args)
    weights = np.cos(np.arange(out.size))
    gradients = []
    for k, a in enumerate(args):
        g = np.zeros(a.shape)
        for at in np.ndindex(*a.shape):
            moved = [b.astype(complex) for b in args]
            moved[k][at] += 1e-30j
            g[at] = (f(*moved).ravel() @ weights).imag / 1e-30
        gradients.append(g)
    inputs = ", ".join(f"a{k} = {a.tolist()!r}" for k, a in enumerate(args))
    slopes = ", ".join(f"a{k} = {g.tolist()!r}" for k, g in enumerate(gradients))
    print(f"let {name} = {{\n  args = {{{inputs}}},\n  out = {out.ravel().tolist()!r},\n  gradient = {{{slopes}}}}}")


def main():
    rng = np.random.default_rng(6)
    print("# SPDX-License-Identifier: MIT")
    print("# Made by make_nn.py: not to be edited.")
    print("# args: parameters, then inputs. out: the floats of what the layer gives. gradient: by args, of the sum of out[k] * cos k.")
    case(rng, "dense", lambda w, b, x: x @ w + b, [(3, 2), (2,), (4, 3)])
    case(rng, "conv2d", conv2d, [(12, 2), (2,), (2, 3, 4, 2)])
    case(rng, "layer_norm", layer_norm, [(4,), (4,), (3, 4)])
    case(rng, "lstm", lstm, [(2, 12), (3, 12), (12,), (4, 2, 2)])
    case(rng, "attention", attention, [(4, 4)] * 4 + [(3, 4)])
    case(rng, "causal", lambda *a: attention(*a, causal=True), [(4, 4)] * 4 + [(3, 4)])
    case(rng, "cross_entropy", cross_entropy, [(3, 3)])
    case(rng, "binary", binary, [(4,), (4,)])


main()
