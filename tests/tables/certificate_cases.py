# SPDX-License-Identifier: MIT
"""What of the modules docs/certificate.md measures: sources in Atled, arguments, units. References are in make_certificate.py
under the same names.

CASES: a source is over float arguments x, y, z, w, of which derivatives are taken, then ints k, m, which are fixed. A unit is
- ulp: of the value; derivatives are in conditioned units;
- modulus: ulp of the modulus of a complex value, of which k says the part; derivatives are in conditioned units of the modulus;
- conditioned: conditioned units for values too, of the modulus if they are complex;
- a number: a tolerance in place of eps in conditioned units, and a hundredth of it more, since tolerances are absolute next to 0.

ARRAYS: a source is over an array a; it is a function of x by a + x * e, at x = 0. Units are conditioned ones with Frobenius norms:
eps * (|g| + |a| |dg/da| + |e| |dg/de|), where a number stands in place of eps if there is one. A pair is (a, e), and k its number."""
import collections

Case = collections.namedtuple("Case", "source points fixed unit bars order", defaults=(0, "conditioned", {}, 2))
Family = collections.namedtuple("Family", "source pairs unit bars order", defaults=("norms", {}, 2))

# ---- Stats ------------------------------------------------------------------------------------------------------------
INCOMPLETE = {0: 16}
CASES = {
    "Stats.normal.log_density": Case("(Stats.normal x y).log_density z", [(1.0, 2.0, 2.5), (-0.5, 0.25, 3.0), (0.0, 1.0, 0.0), (1e3, 1e-3, 1e3), (0.0, 3.0, -1e8)]),
    "Stats.normal.cdf": Case("(Stats.normal x y).cdf z", [(1.0, 2.0, 2.5), (-0.5, 0.25, -2.0), (0.0, 1.0, -30.0), (0.0, 1.0, 7.5), (2.0, 0.5, 2.0)]),
    "Stats.lognormal.log_density": Case("(Stats.lognormal x y).log_density z", [(0.5, 0.75, 2.0), (0.5, 0.75, 0.1), (0.0, 1.0, 1e-30), (0.0, 0.5, 1.0)]),
    "Stats.lognormal.cdf": Case("(Stats.lognormal x y).cdf z", [(0.5, 0.75, 2.0), (0.5, 0.75, 1e-4), (0.0, 1.0, 50.0), (0.0, 2.0, 1.0)]),
    "Stats.exponential.log_density": Case("(Stats.exponential x).log_density y", [(2.0, 0.75), (1e-5, 3e4), (3.5, 0.0)]),
    "Stats.exponential.cdf": Case("(Stats.exponential x).cdf y", [(2.0, 0.75), (2.0, 1e-9), (0.5, 60.0)]),
    "Stats.gamma.log_density": Case("(Stats.gamma x y).log_density z", [(0.3, 2.0, 0.01), (2.5, 0.5, 3.0), (25.0, 2.0, 14.0), (5000.0, 1.0, 4900.0), (1e-3, 1.0, 1e-20), (9.5, 1.0, 9.0), (12.0, 1.0, 0.01)]),
    "Stats.gamma.cdf": Case("(Stats.gamma x y).cdf z", [(0.3, 2.0, 0.01), (25.0, 2.0, 14.0), (2.5, 0.5, 3.0), (120.0, 1.0, 150.0), (0.01, 1.0, 3.0)], bars=INCOMPLETE),
    "Stats.beta.log_density": Case("(Stats.beta x y).log_density z", [(0.3, 0.7, 0.01), (2.5, 1.25, 0.4), (30.0, 12.0, 0.75), (30.0, 0.5, 0.75), (400.0, 600.0, 0.38), (0.01, 0.02, 0.999)]),
    "Stats.beta.cdf": Case("(Stats.beta x y).cdf z", [(2.5, 1.25, 0.4), (0.3, 30.0, 0.001), (40.0, 60.0, 0.55), (5.0, 0.01, 0.99)], bars=INCOMPLETE),
    "Stats.student.log_density": Case("(Stats.student x y z).log_density w", [(0.3, 0.5, 2.0, 4.0), (5.0, 0.0, 1.0, -1.5), (30.0, 1.0, 0.5, 1.25), (1e4, 0.0, 1.0, 2.0), (3.0, 1.0, 2.0, 1.0), (2.0, 0.0, 1.0, 1e6)]),
    "Stats.student.cdf": Case("(Stats.student x y z).cdf w", [(0.3, 0.5, 2.0, 4.0), (5.0, 0.0, 1.0, -1.5), (30.0, 1.0, 0.5, 1.25), (5.0, 0.0, 1.0, -8.0), (5.0, 0.0, 1.0, 1e-9), (3.0, 1.0, 2.0, 1.0), (2.0, 0.0, 1.0, -1e5)], bars=INCOMPLETE),
    "Stats.poisson.log_density": Case("(Stats.poisson x).log_density k", [(2.5, 0), (2.5, 3), (1000.0, 900), (1e-3, 2), (9.0, 9)], 1),
    "Stats.poisson.cdf": Case("(Stats.poisson x).cdf k", [(2.5, 0), (2.5, 3), (100.0, 80), (0.01, 2), (30.0, 9)], 1, bars=INCOMPLETE),
    "Stats.binomial.log_density": Case("(Stats.binomial m x).log_density k", [(0.25, 0, 12), (0.25, 4, 12), (0.25, 300, 1000), (0.999, 12, 12), (1e-8, 3, 40)], 2),
    "Stats.binomial.cdf": Case("(Stats.binomial m x).cdf k", [(0.25, 0, 12), (0.25, 4, 12), (0.5, 30, 100), (0.999, 11, 12), (1e-8, 3, 40)], 2, bars=INCOMPLETE),
    "Stats.dirichlet.log_density": Case("(Stats.dirichlet [x, y]).log_density [z, w]", [(0.5, 2.0, 0.125, 0.875), (12.0, 30.0, 0.25, 0.75), (1e-3, 0.1, 0.0009765625, 0.9990234375)]),
    "Stats.mvnormal.log_density": Case("(Stats.mvnormal [x, 0.5] [[2.0, y], [y, z]]).log_density [w, 1.5]", [(1.0, 0.5, 1.0, 0.25), (0.0, -1.4, 1.0, 3.0), (-20.0, 0.0, 0.001, 4.0)]),
}

# ---- Complex ------------------------------------------------------------------------------------------------------------
PLANE = [(1.5, -0.7), (-2.0, 0.3), (0.1, 0.2), (-1.0, 1e-8), (1e-8, 1.0), (0.6, 0.8), (-0.75, -4.5)]
FAR = [(1e200, -1e200), (1e-200, 1e-200), (3e-5, 1e10)]


def parts(points):
    return [(*p, k) for p in points for k in (0, 1)]


def unary(name, points, call=None):
    CASES[f"Complex.{name}"] = Case(f"part k ({call or f'Complex.{name}'} {{re = x, im = y}})", parts(points), 1, "modulus")


def binary(name, points, unit="modulus"):
    CASES[f"Complex.{name}"] = Case(f"part k (Complex.{name} {{re = x, im = y}} {{re = z, im = w}})", parts(points), 1, unit)


for complex_name, complex_points in {
        "exp": PLANE + [(300.0, 2.0), (-700.0, 1e3)], "log": PLANE + FAR + [(0.99999999, 1e-5), (0.3, 1.1)], "sqrt": PLANE + FAR,
        "inv": PLANE + FAR, "sin": PLANE + [(2.0, 40.0), (1e-9, 1e-9)], "cos": PLANE + [(2.0, 40.0), (1e-9, 1e-9)],
        "tan": PLANE + [(2.0, 40.0), (1.0, 400.0), (1.5707963267948966, 1e-8), (1e-9, 1e-9)], "sinh": PLANE + [(40.0, 2.0), (1e-9, 1e-9)],
        "cosh": PLANE + [(40.0, 2.0), (1e-9, 1e-9)], "tanh": PLANE + [(40.0, 2.0), (400.0, 1.0), (1e-8, 1.5707963267948966), (1e-9, 1e-9)]}.items():
    unary(complex_name, complex_points)
unary("power z 3", PLANE, "(fun z -> Complex.power z 3)")
unary("power z (-5)", PLANE, "(fun z -> Complex.power z (-5))")
CASES["Complex.abs"] = Case("Complex.abs {re = x, im = y}", PLANE + FAR, unit="ulp")
CASES["Complex.arg"] = Case("Complex.arg {re = x, im = y}", PLANE + FAR, unit="ulp")
PAIRS = [(1.5, -0.7, 0.3, 2.0), (-2.0, 0.3, 1.5, 1.5), (0.6, 0.8, 0.6, -0.8), (1e-5, 3.0, -40.0, 1e-3)]
binary("mul", PAIRS)
binary("div", PAIRS + [(1e200, 1e200, 1e200, 3e199), (1e-200, 1e-200, 2e-200, 1e-200)])
binary("pow", PAIRS[:3] + [(-1.0, 1e-8, 0.5, 0.0), (3.0, 4.0, 10.0, -2.0)], "conditioned")

# ---- Quad, Ode, Optim, Fit: closed forms ------------------------------------------------------------------------------------
QUAD = "{Quad.defaults with rtol = 1e-12, atol = 0.0}"
ODE = "{Ode.defaults with rtol = 1e-10, atol = 1e-12}"
LOGISTIC = "(fun _ v -> x * v * (1.0 - v))"
TURN = "(fun _ (p, q) -> (q, -x * x * p))"
GRID = "[ z * float i / 64.0 | i < 65 ]"
CASES |= {
    "Quad.integrate, finite": Case(f"(Quad.integrate {QUAD} (fun t -> exp (-x * t) * cos t) y z).value", [(0.5, 0.0, 3.0), (2.0, -1.0, 1.5), (0.1, 4.0, -4.0), (-0.3, 0.0, 30.0)], unit=1e-12),
    "Quad.integrate, infinite": Case(f"(Quad.integrate {QUAD} (fun t -> exp (-x * t * t)) y inf).value", [(0.5, 0.0), (2.0, -1.0), (1.0, 1.5)], unit=1e-12),
    "Quad.integrate, a singular end": Case(f"(Quad.integrate {QUAD} (fun t -> t ** x) 0.0 y).value", [(-0.5, 2.0), (0.5, 1.0), (1.25, 3.0)], unit=1e-12),
    "Ode.euler": Case(f"(Ode.euler (fun _ v -> -x * v) y {GRID})[64]", [(0.5, 2.0, 1.0), (3.0, -1.0, 2.0)]),
    "Ode.rk4": Case(f"(Ode.rk4 (fun _ v -> -x * v) y {GRID})[64]", [(0.5, 2.0, 1.0), (3.0, -1.0, 2.0)]),
    "Ode.dopri5, decay": Case(f"(Ode.dopri5 {ODE} (fun _ v -> -x * v) y [0.0, z]).ys[1]", [(0.5, 2.0, 1.0), (3.0, -1.0, 2.0)], unit=1e-10),
    "Ode.dopri5, logistic": Case(f"(Ode.dopri5 {ODE} {LOGISTIC} y [0.0, z]).ys[1]", [(0.5, 0.25, 1.0), (3.0, 0.01, 2.0)], unit=1e-10),
    "Ode.dopri5, oscillator": Case(f"fst (Ode.dopri5 {ODE} {TURN} (y, 0.0) [0.0, z]).ys[1]", [(0.5, 2.0, 1.0), (3.0, -1.0, 2.0)], unit=1e-10),
    "Ode.rosenbrock, logistic": Case(f"(Ode.rosenbrock {ODE} {LOGISTIC} y [0.0, z]).ys[1]", [(3.0, 0.01, 2.0)], unit=1e-10),
    "Ode.rosenbrock, stiff": Case(f"(Ode.rosenbrock {ODE} (fun t v -> -1000.0 * (v - x * cos t) - x * sin t) y [0.0, float k]).ys[1]", [(0.5, 0.5, 1), (2.0, 3.0, 2)], 1, 1e-10),
    "Ode.adjoint, logistic": Case(f"(Ode.adjoint {ODE} {LOGISTIC} y [0.0, z]).ys[1]", [(0.5, 0.25, 1.0), (3.0, 0.01, 2.0)], unit=1e-10),
    "Optim.root": Case("Optim.root (fun v -> v * v * v + y * v - x) 1.0", [(2.0, 1.0), (0.1, 3.0)], unit="ulp"),
    "Optim.argmin": Case("Optim.argmin (fun v -> exp (x * v) - y * v) 0.0", [(2.0, 1.0), (0.5, 3.0)], unit=1e-10),
    "Optim.fixed_point": Case("Optim.fixed_point (fun v -> exp (-x * v)) 0.5", [(0.5,), (0.9,)], unit=1e-10),
    "Optim.find_root": Case("Optim.find_root (fun v -> v * v - x) 0.0 10.0", [(2.0,), (30.0,)], unit="ulp"),
    "Optim.minimize_scalar": Case("Optim.minimize_scalar (fun v -> cosh (v - x)) (-4.0) 4.0", [(0.5,), (-1.25,)], unit=1e-7, order=0),
}

# ---- Interp -----------------------------------------------------------------------------------------------------------------
INTERP_XS = [0.0, 1.0, 1.5, 3.0, 4.0, 6.0]
INTERP_YS = [1.0, 2.5, 2.75, 0.5, 0.25, 3.0]


def curve(name, made):
    knots = f"{INTERP_XS} [1.0, 2.5, y, 0.5, 0.25, 3.0]"
    CASES[f"Interp.{name}"] = Case(f"Interp.at ({made} {knots}) x", [(0.25, 2.75), (1.125, 2.75), (2.5, 2.75), (3.5, 2.6), (5.75, 2.75)])


curve("linear", "Interp.linear")
curve("spline NotAKnot", "Interp.spline Interp.NotAKnot")
curve("spline Natural", "Interp.spline Interp.Natural")
curve("spline (Clamped …)", "Interp.spline (Interp.Clamped (0.5, -1.0))")
curve("monotone", "Interp.monotone")

# ---- Linalg, Fft: functions of arrays -------------------------------------------------------------------------------------------
WELL = [[4.0, 1.0, -0.5, 0.25], [0.75, 3.0, 0.5, -1.0], [-0.25, 0.5, 5.0, 1.5], [1.0, -0.75, 0.25, 2.0]]
TURNED = [[1e-8, 1.0, 0.5], [1.0, 1.0, -2.0], [2.0, -1.0, 3.0]]
SIDE = [[0.5, -1.0, 0.25, 1.0], [0.75, 0.5, -0.5, 0.125], [1.0, 0.25, -0.75, 0.5], [-0.5, 1.0, 0.5, 0.25]]
HILBERT = [[1.0 / (i + j + 1) for j in range(5)] for i in range(5)]
SYMMETRIC = [[4.0, 1.0, -0.5, 0.25], [1.0, 3.0, 0.5, -1.0], [-0.5, 0.5, 5.0, 0.75], [0.25, -1.0, 0.75, 2.0]]
BALANCED = [[0.5, -1.0, 0.25, 1.0], [-1.0, 0.5, -0.5, 0.125], [0.25, -0.5, -0.75, 0.5], [1.0, 0.125, 0.5, 0.25]]
GRADED = [[1.0, 2e-5, 3e-9], [2e-5, 1e-6, 1e-10], [3e-9, 1e-10, 1e-12]]
TALL = [[1.0, 0.5, -1.0], [2.0, -1.0, 0.25], [0.5, 3.0, 1.0], [-1.0, 0.75, 2.0], [0.25, 1.0, 1.0]]
NEARLY = [[1.0, 1.0, 0.5], [1.0, 1.0000001, -0.5], [1.0, 0.9999999, 1.0], [1.0, 1.0000002, 0.25], [1.0, 1.0, -1.0]]
SIDE5 = [[(-1.0)**(i * j) * (1 + (2 * i + 3 * j) % 5) / 8 for j in range(5)] for i in range(5)]
EVEN5 = [[(1 + (i + j) % 3) / 8 * (-1.0)**(i + j) for j in range(5)] for i in range(5)]
SIDE3 = [row[:3] for row in SIDE[:3]]
EVEN3 = [row[:3] for row in BALANCED[:3]]
TALL_SIDE = [[(1 + (2 * i + 3 * j) % 5) / 8 * (-1.0)**(i + j) for j in range(3)] for i in range(5)]
SQUARES = [(WELL, SIDE), (TURNED, SIDE3), (HILBERT, SIDE5)]
DEFINITE = [(SYMMETRIC, BALANCED), (HILBERT, EVEN5), (GRADED, EVEN3)]
DISTINCT = [(SYMMETRIC, BALANCED), (HILBERT, EVEN5)]
RECTANGLES = [(TALL, TALL_SIDE), (NEARLY, TALL_SIDE)]


def wave(n):
    return [((7 * i * i + 3 * i) % 11) / 4 - 1.0 for i in range(n)], [((5 * i + 2) % 7) / 8 - 0.25 for i in range(n)]


WAVES = [wave(n) for n in (8, 12, 7, 17, 30)]
WEIGHED = "sum (flatten [ (1.0 + float i - 0.5 * float j) * {}[i, j] | i < length a, j < length a[0] ])"
SUM = "sum [ (1.0 + float i) * {}[i] | i < length {} ]"
ARRAYS = {
    "Linalg.solve": Family("let v = Linalg.solve a [ 1.0 - 0.5 * float i | i < length a ] in " + SUM.format("v", "v"), SQUARES),
    "Linalg.inverse": Family("let v = Linalg.inverse a in " + WEIGHED.format("v"), SQUARES),
    "Linalg.det": Family("Linalg.det a", SQUARES),
    "Linalg.slogdet": Family("(Linalg.slogdet a).log_abs", SQUARES),
    "Linalg.logdet": Family("Linalg.logdet a", DEFINITE),
    "Linalg.cholesky": Family("let v = Linalg.cholesky a in " + WEIGHED.format("v"), DEFINITE),
    "Linalg.eigh, values": Family("let v = (Linalg.eigh a).values in " + SUM.format("v", "v"), DISTINCT),
    "Linalg.eigh, least value": Family("(Linalg.eigh a).values[0]", DISTINCT),
    "Linalg.eigh, vectors": Family("let v = (Linalg.eigh a).vectors in sum (flatten [ v[i, 0] * v[j, 0] * (1.0 + float i) | i < length a, j < length a ])", DISTINCT),
    "Linalg.svd, values": Family("let v = (Linalg.svd a).s in " + SUM.format("v", "v"), RECTANGLES),
    "Linalg.svd, least value": Family("let v = (Linalg.svd a).s in v[length v - 1]", RECTANGLES),
    "Linalg.qr": Family("let v = (Linalg.qr a).r in v[0, 1] * v[0, 2] + v[1, 2] * v[1, 2] + 2.0 * v[2, 2] * v[2, 2]", RECTANGLES),
    "Linalg.lstsq": Family("let v = Linalg.lstsq a [1.0, -0.5, 2.0, 0.25, 1.5] in " + SUM.format("v", "v"), RECTANGLES),
    "Linalg.pinv": Family("let v = Linalg.pinv a in sum (flatten [ (1.0 + float i - 0.5 * float j) * v[i, j] | i < 3, j < 5 ])", RECTANGLES),
    "Linalg.expm": Family("let v = Linalg.expm a in " + WEIGHED.format("v"), [(WELL, SIDE), (TURNED, SIDE3)]),
    "Linalg.norm_spectral": Family("Linalg.norm_spectral a", [(WELL, SIDE), (TALL, TALL_SIDE)]),
    "Linalg.cond": Family("Linalg.cond a", [(WELL, SIDE), (TURNED, SIDE3)]),
    "Linalg.cg": Family("let v = Linalg.cg (fun u -> a @ u) [ 1.0 - 0.5 * float i | i < length a ] in " + SUM.format("v", "v"), [(SYMMETRIC, BALANCED)], 1e-12),
    "Fft.forward": Family("let v = Fft.forward {re = a, im = reverse a} in " + SUM.format("v.re", "a") + " - v.im[1]", WAVES),
    "Fft.inverse": Family("let v = Fft.inverse {re = a, im = reverse a} in " + SUM.format("v.re", "a") + " - v.im[1]", WAVES),
    "Fft.power": Family("let v = Fft.power (Fft.forward {re = a, im = reverse a}) in v[1] + v[2]", WAVES),
    "Fft.real": Family("let v = Fft.real a in v.re[1] + 2.0 * v.im[1] - v.re[0]", WAVES),
    "Fft.convolve": Family("let v = Fft.convolve a (reverse a) in v[1] + v[length a]", [*WAVES, wave(40)]),
}

# ---- Counts ---------------------------------------------------------------------------------------------------------------------
# What calls a function, as a function of p near 1: `tick`, the identity, is called once by each evaluation of the function.
STEPS = "[ 0.01 * float i | i < 101 ]"
BANANA = "(fun v -> (p - tick v[0]) ^ 2 + 100.0 * (v[1] - v[0] ^ 2) ^ 2) [-1.2, 1.0]"
BOWL = "(fun v -> (tick v[0] - p) ^ 2 + 4.0 * (v[1] - 1.0) ^ 2) [3.0, -2.0]"
RESIDUALS = "(fun v -> [p - tick v[0], 10.0 * (v[1] - v[0] ^ 2)]) [-1.2, 1.0]"
NORMAL = "(fun v -> -0.5 * (tick v[0] ^ 2 + v[1] ^ 2 / p)) [0.5, 0.5] (Random.key 1)"
DRAWS = "{Mcmc.defaults with draws = 100, warmup = 100}"
FIT = ("Fit.map Optim.defaults (Fit.model (Fit.record (fun mean -> {mean}) |> Fit.add "
       "(Fit.parameter \"mean\" {transform = Fit.real, prior = (Stats.normal 0.0 10.0).log_density, start = 0.0})) "
       "(fun q -> sum [ (Stats.normal (tick q.mean) p).log_density y | y in [1.0, 2.5, 3.0] ]))")
COUNTED = {
    "`Ode.euler`, 100 steps": f"(Ode.euler (fun _ y -> -p * tick y) 1.0 {STEPS})[100]",
    "`Ode.rk4`, 100 steps": f"(Ode.rk4 (fun _ y -> -p * tick y) 1.0 {STEPS})[100]",
    "`Ode.leapfrog`, 100 steps": f"fst (Ode.leapfrog (fun _ x -> -p * tick x) (1.0, 0.0) {STEPS})[100]",
    "`Ode.dopri5`, an oscillator": "fst (Ode.dopri5 Ode.defaults (fun _ (x, v) -> (v, -p * tick x)) (1.0, 0.0) [0.0, 10.0]).ys[1]",
    "`Ode.adjoint`, the same": "fst (Ode.adjoint Ode.defaults (fun _ (x, v) -> (v, -p * tick x)) (1.0, 0.0) [0.0, 10.0]).ys[1]",
    "`Ode.rosenbrock`, stiff": "(Ode.rosenbrock Ode.defaults (fun t y -> -1000.0 * (tick y - p * cos t)) 0.0 [0.0, 1.0]).ys[1]",
    "`Ode.until`, a ball that falls": "(Ode.until Ode.defaults (fun _ (x, _) -> x) (fun _ (x, v) -> (v, -9.81 * p + 0.0 * tick x)) (20.0, 0.0) 0.0 10.0).t",
    "`Quad.integrate`, smooth": "(Quad.integrate Quad.defaults (fun x -> exp (-p * tick x * x)) 0.0 1.0).value",
    "`Quad.integrate`, infinite": "(Quad.integrate Quad.defaults (fun x -> exp (-p * tick x * x)) 0.0 inf).value",
    "`Optim.gd`, a bowl": f"(Optim.gd {{Optim.defaults with rate = 0.1}} {BOWL}).x[0]",
    "`Optim.momentum`, the same": f"(Optim.momentum {{Optim.defaults with rate = 0.02}} {BOWL}).x[0]",
    "`Optim.adam`, the same": f"(Optim.adam {{Optim.defaults with rate = 0.1}} {BOWL}).x[0]",
    "`Optim.lbfgs`, Rosenbrock's valley": f"(Optim.lbfgs Optim.defaults {BANANA}).x[0]",
    "`Optim.newton`, the same": f"(Optim.newton Optim.defaults {BANANA}).x[0]",
    "`Optim.nelder_mead`, the same": f"(Optim.nelder_mead Optim.defaults {BANANA}).x[0]",
    "`Optim.projected`, the same": f"(Optim.projected Optim.defaults (Optim.box [-2.0, -2.0] [2.0, 2.0]) {BANANA}).x[0]",
    "`Optim.levenberg_marquardt`, the same": f"(Optim.levenberg_marquardt Optim.defaults {RESIDUALS}).x[0]",
    "`Optim.argmin`, the same": f"(Optim.argmin {BANANA})[0]",
    "`Optim.root`, x² = p": "Optim.root (fun v -> tick v * v - p) 2.0",
    "`Optim.find_root`, the same": "Optim.find_root (fun v -> tick v * v - p) 0.0 3.0",
    "`Optim.bisect`, the same": "Optim.bisect (fun v -> tick v * v - p) 0.0 3.0",
    "`Optim.fixed_point`, x = cos p x": "Optim.fixed_point (fun v -> cos (p * tick v)) 0.5",
    "`Optim.minimize_scalar`": "Optim.minimize_scalar (fun v -> cosh (tick v - p)) (-4.0) 4.0",
    "`Fit.map`, a mean": f"({FIT}).values.mean",
    "`Mcmc.walk`, 200 draws": f"(Mcmc.walk {DRAWS} {NORMAL}).acceptance",
    "`Mcmc.hmc`, the same": f"(Mcmc.hmc {DRAWS} {NORMAL}).acceptance",
    "`Mcmc.nuts`, the same": f"(Mcmc.nuts {DRAWS} {NORMAL}).acceptance",
}
