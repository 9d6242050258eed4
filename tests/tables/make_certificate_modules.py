#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes certificate_modules.txt: functions of modules with their derivatives to order 2, for docs/make_certificate.py.

usage: make_certificate_modules.py [PREFIX…] > certificate_modules.txt      (Debian: python3-mpmath; some minutes)

With prefixes only functions whose names begin with one. The functions, their points and units are those of certificate_cases.py;
here are their definitions, written with mpmath, which differentiates them numerically with 60 digits. A row is as in
certificate.txt; its scale is the denominator of the function's unit over eps."""
import functools
import itertools
import sys
import mpmath as mp
from certificate_cases import ARRAYS, CASES, INTERP_XS, INTERP_YS

mp.mp.dps = 60
HALF = mp.mpf(1) / 2
NOISE = mp.mpf(10)**-50  # of differences: what is less is 0


# ---- Stats ------------------------------------------------------------------------------------------------------------
def normal(mean, sd, x):
    return -((x - mean) / sd)**2 / 2 - mp.log(sd * mp.sqrt(2 * mp.pi))


def normal_cdf(mean, sd, x):
    return mp.erfc((mean - x) / sd / mp.sqrt(2)) / 2


def gamma(shape, rate, x):
    return shape * mp.log(rate) + (shape - 1) * mp.log(x) - rate * x - mp.loggamma(shape)


def gamma_cdf(shape, rate, x):
    return mp.gammainc(shape, 0, rate * x, regularized=True)


def beta(a, b, x):
    return (a - 1) * mp.log(x) + (b - 1) * mp.log(1 - x) - mp.loggamma(a) - mp.loggamma(b) + mp.loggamma(a + b)


def beta_cdf(a, b, x):
    return mp.betainc(a, b, 0, x, regularized=True)


def student(dof, location, scale, x):
    z = (x - location) / scale
    return (mp.loggamma((dof + 1) / 2) - mp.loggamma(dof / 2) - mp.log(dof * mp.pi) / 2 - mp.log(scale)
            - (dof + 1) / 2 * mp.log(1 + z * z / dof))


def student_cdf(dof, location, scale, x):
    z = (x - location) / scale
    if z < -2:
        return mp.betainc(dof / 2, HALF, 0, dof / (dof + z * z), regularized=True) / 2
    c = mp.gamma((dof + 1) / 2) / (mp.gamma(dof / 2) * mp.sqrt(dof * mp.pi))
    return HALF + z * c * mp.hyp2f1(HALF, (dof + 1) / 2, 3 * HALF, -z * z / dof)


def poisson(mean, k):
    return k * mp.log(mean) - mean - mp.loggamma(k + 1)


def binomial(p, k, n):
    return mp.log(mp.binomial(n, k)) + k * mp.log(p) + (n - k) * mp.log(1 - p)


def below(density):
    """The distribution function of a discrete distribution, from what isn't more than a half by its sum."""
    def cdf(parameter, k, *n):
        return sum(mp.exp(density(parameter, j, *n)) for j in range(k + 1))
    return cdf


def dirichlet(a, b, x, y):
    return mp.loggamma(a + b) - mp.loggamma(a) - mp.loggamma(b) + (a - 1) * mp.log(x) + (b - 1) * mp.log(y)


def mvnormal(m, b, c, x):
    det, u, v = 2 * c - b * b, x - m, mp.mpf(1)
    return -(c * u * u - 2 * b * u * v + 2 * v * v) / (2 * det) - mp.log(2 * mp.pi) - mp.log(det) / 2


REAL = {
    "Stats.normal.log_density": normal, "Stats.normal.cdf": normal_cdf,
    "Stats.lognormal.log_density": lambda m, s, x: normal(m, s, mp.log(x)) - mp.log(x),
    "Stats.lognormal.cdf": lambda m, s, x: normal_cdf(m, s, mp.log(x)),
    "Stats.exponential.log_density": lambda r, x: mp.log(r) - r * x, "Stats.exponential.cdf": lambda r, x: -mp.expm1(-r * x),
    "Stats.gamma.log_density": gamma, "Stats.gamma.cdf": gamma_cdf, "Stats.beta.log_density": beta, "Stats.beta.cdf": beta_cdf,
    "Stats.student.log_density": student, "Stats.student.cdf": student_cdf,
    "Stats.poisson.log_density": poisson, "Stats.poisson.cdf": below(poisson),
    "Stats.binomial.log_density": binomial, "Stats.binomial.cdf": below(binomial),
    "Stats.dirichlet.log_density": dirichlet, "Stats.mvnormal.log_density": mvnormal,
}


# ---- Closed forms -------------------------------------------------------------------------------------------------------
def damped(p, a, b):
    """The integral of exp (-p t) cos t."""
    def primitive(t):
        return mp.exp(-p * t) * (mp.sin(t) - p * mp.cos(t)) / (1 + p * p)
    return primitive(b) - primitive(a)


def fixed_steps(factor):
    return lambda rate, y, t: y * factor(-rate * t / 64)**64


def logistic(rate, y, t):
    return y / (y + (1 - y) * mp.exp(-rate * t))


def cubic_root(x, y):
    return mp.findroot(lambda v: v**3 + y * v - x, mp.mpf("0.7"))


DECAY = lambda rate, y, t: y * mp.exp(-rate * t)
REAL |= {
    "Quad.integrate, finite": damped,
    "Quad.integrate, infinite": lambda p, a: mp.sqrt(mp.pi / p) / 2 * mp.erfc(mp.sqrt(p) * a),
    "Quad.integrate, a singular end": lambda p, b: b**(p + 1) / (p + 1),
    "Ode.euler": fixed_steps(lambda h: 1 + h), "Ode.rk4": fixed_steps(lambda h: 1 + h + h**2 / 2 + h**3 / 6 + h**4 / 24),
    "Ode.dopri5, decay": DECAY, "Ode.dopri5, logistic": logistic, "Ode.dopri5, oscillator": lambda w, y, t: y * mp.cos(w * t),
    "Ode.rosenbrock, logistic": logistic,
    "Ode.rosenbrock, stiff": lambda x, y, t: x * mp.cos(t) + (y - x) * mp.exp(-1000 * t),
    "Ode.adjoint, logistic": logistic,
    "Optim.root": cubic_root, "Optim.argmin": lambda x, y: mp.log(y / x) / x,
    "Optim.fixed_point": lambda x: mp.lambertw(x) / x, "Optim.find_root": mp.sqrt, "Optim.minimize_scalar": lambda x: x,
}


# ---- Complex ------------------------------------------------------------------------------------------------------------
COMPLEX = {name: getattr(mp, name) for name in "exp log sqrt sin cos tan sinh cosh tanh".split()}
COMPLEX |= {"inv": lambda z: 1 / z, "power z 3": lambda z: z**3, "power z (-5)": lambda z: z**-5,
            "mul": lambda z, w: z * w, "div": lambda z, w: z / w, "pow": lambda z, w: mp.exp(w * mp.log(z))}
REAL |= {"Complex.abs": mp.hypot, "Complex.arg": lambda x, y: mp.atan2(y, x)}


# ---- Curves ---------------------------------------------------------------------------------------------------------------
def knots(y):
    return [mp.mpf(v) for v in INTERP_XS], [y if i == 2 else mp.mpf(v) for i, v in enumerate(INTERP_YS)]


def hermite(slopes):
    """The cubic Hermite curve by Bernstein's polynomials, whose values and slopes at the knots are given."""
    def at(x, y):
        xs, ys = knots(y)
        m = slopes(xs, ys)
        i = max(k for k in range(len(xs) - 1) if xs[k] <= x)
        h = xs[i + 1] - xs[i]
        t = (x - xs[i]) / h
        b = [ys[i], ys[i] + h * m[i] / 3, ys[i + 1] - h * m[i + 1] / 3, ys[i + 1]]
        return sum(mp.binomial(3, k) * t**k * (1 - t)**(3 - k) * b[k] for k in range(4))
    return at


def spline_slopes(kind):
    """From one linear system for the coefficients of all cubics a + b t + c t^2 + d t^3."""
    def slopes(xs, ys):
        n = len(xs) - 1
        rows, right = [], []

        def equation(value, *terms):
            row = [mp.mpf(0)] * (4 * n)
            for place, factor in terms:
                row[place] += factor
            rows.append(row)
            right.append(value)

        def slope(i, t, s=1):
            return [(4 * i + 1, s), (4 * i + 2, 2 * t * s), (4 * i + 3, 3 * t * t * s)]

        def bend(i, t, s=1):
            return [(4 * i + 2, 2 * s), (4 * i + 3, 6 * t * s)]
        for i in range(n):
            h = xs[i + 1] - xs[i]
            equation(ys[i], (4 * i, 1))
            equation(ys[i + 1], (4 * i, 1), (4 * i + 1, h), (4 * i + 2, h**2), (4 * i + 3, h**3))
            if i < n - 1:
                equation(0, *slope(i, h), *slope(i + 1, 0, -1))
                equation(0, *bend(i, h), *bend(i + 1, 0, -1))
        last = xs[n] - xs[n - 1]
        if kind == "natural":
            equation(0, *bend(0, 0))
            equation(0, *bend(n - 1, last))
        elif kind == "clamped":
            equation(mp.mpf("0.5"), *slope(0, 0))
            equation(mp.mpf(-1), *slope(n - 1, last))
        else:
            equation(0, (3, 1), (7, -1))
            equation(0, (4 * n - 5, 1), (4 * n - 1, -1))
        c = mp.lu_solve(mp.matrix(rows), mp.matrix(right))
        end = sum((f * c[p] for p, f in slope(n - 1, last)), mp.mpf(0))
        return [c[4 * i + 1] for i in range(n)] + [end]
    return slopes


def monotone_slopes(xs, ys):
    """PCHIP: Fritsch and Butland (1984), ends as in Moler (2004), 3.6."""
    n = len(xs)
    h = [xs[i + 1] - xs[i] for i in range(n - 1)]
    d = [(ys[i + 1] - ys[i]) / h[i] for i in range(n - 1)]

    def inner(i):
        if d[i - 1] * d[i] <= 0:
            return mp.mpf(0)
        w1, w2 = 2 * h[i] + h[i - 1], h[i] + 2 * h[i - 1]
        return (w1 + w2) / (w1 / d[i - 1] + w2 / d[i])

    def end(g, k, a, b):
        m = ((2 * g + k) * a - g * b) / (g + k)
        if m * a <= 0:
            return mp.mpf(0)
        return 3 * a if a * b < 0 and abs(m) > 3 * abs(a) else m
    return [end(h[0], h[1], d[0], d[1])] + [inner(i) for i in range(1, n - 1)] + [end(h[-1], h[-2], d[-1], d[-2])]


def linear(x, y):
    xs, ys = knots(y)
    i = max(k for k in range(len(xs) - 1) if xs[k] <= x)
    return ys[i] + (x - xs[i]) * (ys[i + 1] - ys[i]) / (xs[i + 1] - xs[i])


REAL |= {"Interp.linear": linear, "Interp.spline NotAKnot": hermite(spline_slopes("not a knot")),
         "Interp.spline Natural": hermite(spline_slopes("natural")), "Interp.spline (Clamped …)": hermite(spline_slopes("clamped")),
         "Interp.monotone": hermite(monotone_slopes)}


# ---- Arrays ---------------------------------------------------------------------------------------------------------------
def weighed(m):
    return sum((1 + i - j * HALF) * m[i, j] for i in range(m.rows) for j in range(m.cols))


def counted(v):
    return sum((1 + i) * x for i, x in enumerate(v))


def right_side(n):
    return mp.matrix([1 - HALF * i for i in range(n)])


def gram(a):
    return a.T * a


def singular(a):
    return sorted((mp.sqrt(v) for v in mp.eigsy(gram(a), eigvals_only=True)), reverse=True)


def pseudo_inverse(a):
    return mp.inverse(gram(a)) * a.T


def lower(a):
    return mp.cholesky(a)


def triangle(a):
    """The upper factor of QR from Cholesky's of the Gram matrix: no sign of it is used."""
    r = lower(gram(a)).T
    return r[0, 1] * r[0, 2] + r[1, 2]**2 + 2 * r[2, 2]**2


def least_vector(a):
    """Sums over the projector of the least eigenvalue: what it is doesn't depend on the vector's sign."""
    values, vectors = mp.eigsy(a)
    k = min(range(a.rows), key=lambda i: values[i])
    v = vectors[:, k] / mp.norm(vectors[:, k])
    return sum((1 + i) * v[i] * v[j] for i in range(a.rows) for j in range(a.rows))


@functools.cache
def roots(n, precision):
    return [mp.expjpi(mp.mpf(2 * k) / n) for k in range(n)]


def fourier(z, sign):
    n = len(z)
    return [mp.fdot(z, [roots(n, mp.mp.prec)[sign * j * k % n] for j in range(n)]) for k in range(n)]


def pairs(a):
    return [mp.mpc(x, y) for x, y in zip(a, reversed(list(a)))]


def convolved(a, k):
    """Element k of the convolution of a and its reverse."""
    n = len(a)
    return sum(a[i] * a[n - 1 - k + i] for i in range(n) if 0 <= k - i < n)


def spectrum_sum(sign, scale):
    def f(a):
        v = [c * (mp.mpf(1) / len(a) if scale else 1) for c in fourier(pairs(a), sign)]
        return counted([mp.re(c) for c in v]) - mp.im(v[1])
    return f


def real_sum(a):
    v = fourier(a, -1)
    return mp.re(v[1]) + 2 * mp.im(v[1]) - mp.re(v[0])


MATRIX = {
    "Linalg.solve": lambda a: counted(mp.lu_solve(a, right_side(a.rows))), "Linalg.inverse": lambda a: weighed(mp.inverse(a)),
    "Linalg.det": mp.det, "Linalg.slogdet": lambda a: mp.log(abs(mp.det(a))), "Linalg.logdet": lambda a: mp.log(mp.det(a)),
    "Linalg.cholesky": lambda a: weighed(lower(a)),
    "Linalg.eigh, values": lambda a: counted(sorted(mp.eigsy(a, eigvals_only=True))),
    "Linalg.eigh, least value": lambda a: min(mp.eigsy(a, eigvals_only=True)), "Linalg.eigh, vectors": least_vector,
    "Linalg.svd, values": lambda a: counted(singular(a)), "Linalg.svd, least value": lambda a: singular(a)[-1], "Linalg.qr": triangle,
    "Linalg.lstsq": lambda a: counted(pseudo_inverse(a) * mp.matrix([1.0, -0.5, 2.0, 0.25, 1.5])),
    "Linalg.pinv": lambda a: weighed(pseudo_inverse(a)), "Linalg.expm": lambda a: weighed(mp.expm(a, method="taylor")),
    "Linalg.norm_spectral": lambda a: singular(a)[0], "Linalg.cond": lambda a: singular(a)[0] / singular(a)[-1],
    "Linalg.cg": lambda a: counted(mp.lu_solve(a, right_side(a.rows))),
    "Fft.forward": spectrum_sum(-1, False), "Fft.inverse": spectrum_sum(1, True),
    "Fft.power": lambda a: sum(abs(v)**2 for v in fourier(pairs(a), -1)[1:3]), "Fft.real": real_sum,
    "Fft.convolve": lambda a: convolved(a, 1) + convolved(a, len(a)),
}
SYMMETRIC = ("Linalg.logdet", "Linalg.cholesky", "Linalg.eigh", "Linalg.cg")


# ---- Rows -------------------------------------------------------------------------------------------------------------------
def indices(n, highest):
    return [o for total in range(highest + 1) for o in itertools.product(range(total + 1), repeat=n) if sum(o) == total]


def digits(v):
    return "0" if abs(v) < mp.mpf("1e-340") else mp.nstr(mp.mpf(v), 21, min_fixed=0, max_fixed=0).replace("e+", "e")


def derivative(f, x, orders):
    """Central differences, of an error of about 1e-40; by one variable after the other."""
    with mp.workdps(120):
        return difference(f, [+v for v in x], orders)


def difference(f, x, orders):
    i = next((i for i, order in enumerate(orders) if order), None)
    if i is None:
        return f(*x)
    h = mp.mpf(10)**-20 * (abs(x[i]) or 1)
    rest = tuple(0 if k == i else o for k, o in enumerate(orders))

    def moved(s):
        return difference(f, [v + s * h if k == i else v for k, v in enumerate(x)], rest)
    if orders[i] == 1:
        return (moved(HALF) - moved(-HALF)) / h
    if orders[i] == 2:
        return (moved(1) - 2 * moved(0) + moved(-1)) / h**2
    return (moved(3 * HALF) - 3 * moved(HALF) + 3 * moved(-HALF) - moved(-3 * HALF)) / h**3


def with_one_more(orders, i):
    return tuple(o + (j == i) for j, o in enumerate(orders))


def emit(name, point, cells):
    print(name.replace(" ", "~"), *map(repr, point), "", sep=" ", end="; ")
    print(*[f"{''.join(map(str, o))} {digits(v)} {'0' if s < mp.mpf('1e-320') else mp.nstr(s, 4)}" for o, v, s in cells], sep="; ")
    sys.stdout.flush()


def real_row(name, f, point, case):
    n = len(point) - case.fixed
    x, rest = [mp.mpf(v) for v in point[:n]], point[n:]
    g = lambda *v: f(*v, *rest)
    values = {o: derivative(g, x, o) for o in indices(n, case.order + 1)}
    weights = {o: mp.fprod(abs(v)**k if v else 1 for v, k in zip(x, o)) for o in values}
    noise = NOISE * max(abs(values[o]) * weights[o] for o in indices(n, 1))
    values = {o: v if abs(v) * weights[o] > noise else mp.mpf(0) for o, v in values.items()}
    emit(name, point, [(o, values[o], abs(values[o]) + sum(abs(v * values[with_one_more(o, i)]) for i, v in enumerate(x)))
                       for o in indices(n, case.order)])


def complex_row(name, f, point, case):
    """By the equations of Cauchy and Riemann a derivative by an imaginary part is i times that by the variable."""
    n, part = len(point) - 1, (mp.re, mp.im)[point[-1]]
    z = [mp.mpc(point[i], point[i + 1]) for i in range(0, n, 2)]
    values = {o: derivative(f, z, o) for o in indices(len(z), case.order + 1)}
    cells = []
    for orders in indices(n, case.order):
        by = tuple(orders[2 * k] + orders[2 * k + 1] for k in range(len(z)))
        scale = abs(values[by])
        if any(by) or case.unit != "modulus":
            scale += sum(abs(v * values[with_one_more(by, i)]) for i, v in enumerate(z))
        cells.append((orders, part(values[by] * mp.mpc(0, 1)**sum(orders[1::2])), scale))
    emit(name, point, cells)


def array_row(name, f, k, pair, family):
    a, e = (mp.matrix(m) for m in pair)
    moves = [(i, j) for i in range(a.rows) for j in range(a.cols)]
    symmetric = name.startswith(SYMMETRIC)

    def g(t, s=0, i=0, j=0):
        m = a + t * e
        m[i, j] += s
        if symmetric and i != j:
            m[j, i] += s
        return f(m)
    cells, last = [], []
    for order in range(family.order + 1):
        value = derivative(lambda t: g(t), [mp.mpf(0)], (order,))
        slopes = [derivative(lambda t, s: g(t, s, i, j), [mp.mpf(0), mp.mpf(0)], (order, 1)) for i, j in moves if not symmetric or j <= i]
        scale = abs(value) + mp.norm(list(a)) * mp.norm(slopes) + order * mp.norm(list(e)) * mp.norm(last or [0])
        noise = NOISE * (cells[0][2] if cells else scale)
        cells.append(((order,), value if abs(value) > noise else mp.mpf(0), scale if scale > noise else mp.mpf(0)))
        last = slopes
    emit(name, (0.0, k), cells)


def main():
    chosen = [n for n in (*CASES, *ARRAYS) if n.startswith(tuple(sys.argv[1:]) or "")]
    print("# SPDX-License-Identifier: MIT")
    print(f"# Made by make_certificate_modules.py from mpmath {mp.__version__}: not to be edited. A name's blanks are ~.")
    for name in chosen:
        if name in ARRAYS:
            for k, pair in enumerate(ARRAYS[name].pairs):
                array_row(name, MATRIX[name], k, pair, ARRAYS[name])
        else:
            for point in CASES[name].points:
                if name in REAL:
                    real_row(name, REAL[name], point, CASES[name])
                else:
                    complex_row(name, COMPLEX[name.removeprefix("Complex.")], point, CASES[name])
        print(name, file=sys.stderr)


if __name__ == "__main__":
    main()
