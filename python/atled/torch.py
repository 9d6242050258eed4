# SPDX-License-Identifier: MIT
"""Functions of Atled as operations of PyTorch, on the CPU, in double precision, with first derivatives."""
import numpy as np
import torch

from ._functions import vjp


def function(f, argnums=None):
    """The operation of tensors that f is. argnums: of the arguments that have a derivative; without it, all that are tensors."""

    class Operation(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *xs):
            ctx.xs = [x.detach().numpy() if isinstance(x, torch.Tensor) else x for x in xs]
            ctx.wanted = argnums or tuple(k for k, x in enumerate(xs) if isinstance(x, torch.Tensor))
            return torch.from_numpy(np.array(f(*map(_plain, ctx.xs)), dtype=np.float64))

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, d):
            _, grads = vjp(f, ctx.wanted)(*map(_plain, ctx.xs), _plain(d.numpy()))
            grads = dict(zip(ctx.wanted, grads if len(ctx.wanted) > 1 else (grads,)))
            return tuple(torch.from_numpy(np.array(grads[k])) if k in grads else None for k in range(len(ctx.xs)))

    return Operation.apply


def _plain(x):
    return float(x) if isinstance(x, np.ndarray) and x.ndim == 0 else x
