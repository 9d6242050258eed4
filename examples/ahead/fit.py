"""The same in Python, by ctypes alone: no package of Atled's.

    atled build decay.atl -o libdecay.so --functions decay,loss,grad:loss
    python3 fit.py"""
import ctypes
import math
import os

decay = ctypes.CDLL(os.path.join(os.path.dirname(os.path.abspath(__file__)), "libdecay.so"))
decay.decay_last_error.restype = ctypes.c_char_p
number, numbers = ctypes.c_double, ctypes.POINTER(ctypes.c_double)
decay.decay_loss_grad.argtypes = [number, number, numbers, ctypes.c_size_t, numbers, ctypes.c_size_t] + [numbers] * 5

times = [0.25 * i for i in range(20)]
values = [2.0 * math.exp(-0.5 * t) for t in times]
t, v = (number * 20)(*times), (number * 20)(*values)


def loss(amplitude, rate, n):
    """The loss and its gradient by amplitude and rate; n: how many of the values there are."""
    out = [number() for _ in range(3)]
    if decay.decay_loss_grad(amplitude, rate, t, 20, v, n, *map(ctypes.byref, out), None, None):
        raise ValueError(decay.decay_last_error().decode())
    return [x.value for x in out]


amplitude, rate = 1.0, 1.0
for step in range(5000):
    y, by_amplitude, by_rate = loss(amplitude, rate, 20)
    amplitude -= 0.5 * by_amplitude
    rate -= 0.5 * by_rate
print(f"amplitude {amplitude:.6f}, rate {rate:.6f}, loss {y:.1e}")
try:
    loss(amplitude, rate, 19)
except ValueError as e:
    print(f"as expected: {e}")
