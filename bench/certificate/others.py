#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures PyTorch and JAX at the points of tests/tables/certificate.txt, as docs/make_certificate.py measures Atled.

usage: others.py > others.txt      (PyPI: torch, jax; a few minutes)

Doubles on the CPU. A tool that lacks a function isn't measured there, nor are functions with kinks, where
conventions differ. PyTorch has reverse mode only here (`autograd.grad` with
`create_graph`); JAX has each composition of `jacfwd` and `jacrev`, compiled. A row is: tool, function, and for each order 0 to 2 the
largest error in units, the number of wrong entries by kind, and the first of them. Orders of more modes count each."""
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SPEC = importlib.util.spec_from_file_location("certificate", os.path.join(HERE, "..", "..", "docs", "make_certificate.py"))
certificate = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(certificate)
ORDERS = 2


def jax_functions():
    import jax
    jax.config.update("jax_enable_x64", True)
    import jax.numpy as np
    from jax import nn
    from jax.scipy import special
    names = {n: getattr(np, n) for n in ("sqrt cbrt exp expm1 log log1p log2 log10 sin cos tan "
                                         "sinh cosh tanh hypot").split()}
    names |= {"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
              "erf": special.erf, "erfc": special.erfc, "gamma": special.gamma, "lgamma": special.gammaln, "digamma": special.digamma,
              "sigmoid": nn.sigmoid, "softplus": nn.softplus, "atan2": np.arctan2, "pow": np.power}
    modes = {"F": jax.jacfwd, "R": jax.jacrev}

    def measure(f, points, orders, word):
        for i, mode in zip([i for i, k in enumerate(orders) for _ in range(k)], word):
            f = modes[mode](f, argnums=i)
        columns = [np.array(c, dtype=np.float64) for c in zip(*points)]
        return [float(v) for v in jax.jit(jax.vmap(f))(*columns)]

    return f"JAX {jax.__version__}", names, measure, "FR"


def torch_functions():
    import torch
    names = {n: getattr(torch, n) for n in ("sqrt exp expm1 log log1p log2 log10 sin cos tan asin "
                                            "acos atan sinh cosh tanh asinh acosh atanh erf erfc lgamma digamma sigmoid hypot "
                                            "atan2 pow").split()}
    names["softplus"] = torch.nn.functional.softplus

    def measure(f, points, orders, _):
        columns = [torch.tensor(c, dtype=torch.float64, requires_grad=True) for c in zip(*points)]
        result = f(*columns)
        for i in [i for i, k in enumerate(orders) for _ in range(k)]:
            if not result.requires_grad:
                return [0.0] * len(points)
            made = torch.autograd.grad(result.sum(), columns[i], create_graph=True, allow_unused=True)[0]
            result = torch.zeros_like(columns[i]) if made is None else made
        return [float(v) for v in result]

    return f"PyTorch {torch.__version__}", names, measure, "R"


def one(name, f, entries, measure, modes):
    """For each order the largest error with its place, and the wrong entries."""
    points = [p for p, _ in entries]
    worst = [certificate.Worst() for _ in range(ORDERS + 1)]
    for orders, word in certificate.probes_of(len(points[0]), ORDERS):
        if set(word) <= set(modes):
            results = measure(f, points, orders, word)
            for (point, exact), result in zip(entries, results, strict=True):
                kind, units = certificate.judged(name, result, *exact[orders], sum(orders))
                worst[sum(orders)].add(kind, units, point, word)
    return worst


def shown(w):
    wrong = ", ".join(f"{kind} {len(v)} at {certificate.shown_place(v[0][0])}" for kind, v in sorted(w.wrong.items()) if kind != "lost")
    return f"{w.units:.4g} at {certificate.shown_place(w.point)} | {wrong}"


def main():
    stored = certificate.rows(certificate.STORED[0])
    print("# SPDX-License-Identifier: MIT")
    print("# Made by others.py: not to be edited. Tool | function | for orders 0, 1, 2: largest error at a point | wrong entries")
    for made in (jax_functions, torch_functions):
        try:
            tool, names, measure, modes = made()
        except ImportError as e:
            print(f"others.py: {e}", file=sys.stderr)
            continue
        for name, entries in stored.items():
            if name in names:
                print(tool, name, *map(shown, one(name, names[name], entries, measure, modes)), sep=" | ", flush=True)


if __name__ == "__main__":
    main()
