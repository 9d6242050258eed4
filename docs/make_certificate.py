#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures functions and their derivatives against tests/tables/certificate.txt (scalar functions) and certificate_modules.txt
(those of certificate_cases.py, functions of modules), and makes the tables of docs/certificate.md.

usage: make_certificate.py --atled ATLED [--check] [--show PREFIX]

--check measures a part of the points and orders 0 to 2 in the evaluator, writes nothing, and fails where a bar is missed, or where
the document lacks a function. --show PREFIX prints each error that exceeds a bar, of the
functions whose names begin so."""
import argparse
import concurrent.futures
import itertools
import math
import os
import re
import subprocess
import sys
import tempfile
from fractions import Fraction

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [os.path.join(ROOT, "docs"), os.path.join(ROOT, "tests", "tables")]
import certificate_counts  # noqa: E402
from certificate_cases import ARRAYS, CASES, COUNTED, Case  # noqa: E402

PAGE = os.path.join(ROOT, "docs", "certificate.md")
OTHERS = os.path.join(ROOT, "bench", "certificate", "others.txt")
STORED = [os.path.join(ROOT, "tests", "tables", name) for name in ("certificate.txt", "certificate_modules.txt")]
BEGIN, END = "<!-- {}: made by docs/make_certificate.py -->\n", "<!-- end of {} -->\n"
EPS, LEAST = Fraction(1, 2**52), Fraction(1, 2**1074)
LARGEST = Fraction(sys.float_info.max)
VALUE_BARS = {"gamma": 4, "lgamma": 4, "pow": 4, "Stats.gamma_inc": 16, "Stats.beta_inc": 16}
BARS = (2, 8, 32, 128)  # ulp for values, conditioned units for derivatives of order 1, 2, 3
POWER = re.compile(r"power_(m?)(\d+)$")
SHARE = 5  # --check measures each fifth point, and all edges
# Functions of modules that --check leaves out: they are slow, and others measure most of what they do.
SLOW = ("Ode.rosenbrock", "Ode.adjoint", "Ode.dopri5, logistic", "Ode.dopri5, oscillator", "Linalg.svd, least value", "Linalg.cond",
        "Linalg.norm_spectral", "Linalg.lstsq")


def rows(path):
    """{name: [(point, {orders: (exact, scale)})]}; exact is a Fraction, or a float that isn't finite."""
    table = {}
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.startswith("#"):
                continue
            head, *cells = line.rstrip("\n").split("; ")
            name, *point = head.split()
            entries = {}
            for cell in cells:
                orders, exact, scale = cell.split()
                entries[tuple(map(int, orders))] = (number(exact), number(scale))
            table.setdefault(name.replace("~", " "), []).append((tuple(map(float, point)), entries))
    return table


def number(text):
    return float(text) if text in ("nan", "inf", "-inf") else Fraction(text)


# ---- Programs ---------------------------------------------------------------------------------------------------------
def called(name):
    power = POWER.match(name)
    if power:
        return f"x ^ {'(-' if power[1] else ''}{power[2]}{')' if power[1] else ''}"
    return {"pow": "x ** y", "atan2": "atan2 x y"}.get(name)


# What sources of certificate_cases.py name.
HELPERS = "let part k (z : Complex.complex) = if k = 0 then z.re else z.im\n"


def case_of(name):
    """The case of a module's function; one of arrays is a function of x and the number of the pair of arrays."""
    if name in ARRAYS:
        family = ARRAYS[name]
        choice = "let p = pairs[k] in let a = p.a + x * p.e in "
        return Case(choice + family.source, [], 1, family.unit, family.bars, family.order)
    return CASES.get(name)


def shown(value):
    return f"[{', '.join(map(shown, value))}]" if isinstance(value, list) else repr(value)


def setting(name):
    """What precedes the functions of a program."""
    pairs = ", ".join(f"{{a = {shown(a)}, e = {shown(e)}}}" for a, e in ARRAYS[name].pairs) if name in ARRAYS else ""
    return (HELPERS if name.startswith("Complex.") else "") + (f"let pairs = [{pairs}]\n" if pairs else "")


def parameters(name, n):
    case = case_of(name)
    return " ".join([*"xyzw"[:n], *"km"[:case.fixed if case else 0]])


def function(name, n):
    case, names = case_of(name), parameters(name, n)
    return f"(fun {names} -> {case.source if case else called(name) or name + ' ' + names})"


def composed(name, orders, modes):
    """The derivative as source: modes are those of each order, the innermost first; arguments come in their order."""
    n = len(orders)
    text, names = function(name, n), parameters(name, n)
    for i, mode in zip([i for i, k in enumerate(orders) for _ in range(k)], modes):
        operator, x = {"F": "deriv", "R": "grad"}[mode], "xyzw"[i]
        text = f"(fun {names} -> {operator} (fun {x} -> {text} {names}) {x})" if names != "x" else f"(fun x -> {operator} {text} x)"
    return text


def source(name, points, probes):
    n = len(probes[0][0])
    out = [setting(name)]
    for i in range(len(points[0])):
        column = [p[i] if i < n else int(p[i]) for p in points]
        shown = ", ".join("inf" if v == math.inf else "-inf" if v == -math.inf else repr(v) for v in column)
        out.append(f"let a{i} : {'float' if i < n else 'int'}[] = [{shown}]\n")
    arguments = " ".join(f"a{i}[k]" for i in range(len(points[0])))
    kinds = "float -> " * n + "int -> " * (len(points[0]) - n)
    for k, (orders, modes) in enumerate(probes):
        out.append(f"let f{k} : {kinds}float = {composed(name, orders, modes)}\n"
                   f'print $"{{[ f{k} {arguments} | k < {len(points)} ]}}"\n')
    return "".join(out)


def measured(atled, options, name, points, probes):
    """Results of each probe at each point."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "probe.atl")
        with open(path, "w", encoding="utf-8") as f:
            f.write(source(name, points, probes))
        done = subprocess.run([atled, *options, path], capture_output=True, text=True, timeout=600,
                              env=dict(os.environ, ATLED_CACHE=""))
    if done.returncode:
        sys.exit(f"make_certificate.py: {name}: {done.stderr[:2000]}")
    return [[float(x) for x in line.strip("[]").split(", ")] for line in done.stdout.splitlines()]


# ---- Errors -----------------------------------------------------------------------------------------------------------
def ulp(exact):
    """The distance of the floats around it."""
    if abs(exact) < Fraction(sys.float_info.min):
        return LEAST
    return Fraction(math.ulp(float(min(abs(exact), LARGEST))))


def unit_of(name, exact, scale, order):
    case = case_of(name)
    kind = case.unit if case else "ulp"
    if order == 0 and kind in ("ulp", "modulus"):
        return ulp(exact if kind == "ulp" else scale)
    if isinstance(kind, float):
        return Fraction(kind) * (scale + Fraction(1, 100))
    return EPS * scale + LEAST


def judged(name, result, exact, scale, order):
    """(kind, units): kind is 'error' with its size, 'nan', 'sign', 'infinite' (finite where it isn't, or the reverse), 'lost' (NaN for an
    infinity), or None."""
    if isinstance(exact, float):
        if math.isnan(exact):
            return ("nan", None) if order == 0 and not math.isnan(result) else (None, None)
        kind = None if result == exact else "lost" if math.isnan(result) else "sign" if result == -exact else "infinite"
        return kind, None
    if abs(exact) > LARGEST and result == (math.inf if exact > 0 else -math.inf):
        return None, None
    if isinstance(scale, float) or scale > LARGEST:
        return None, None
    if math.isnan(result):
        return ("lost" if abs(exact) > LARGEST else "nan"), None
    if math.isinf(result):
        return "infinite", None
    units = float(min(abs(Fraction(result) - exact) / unit_of(name, exact, scale, order), LARGEST))
    return ("sign" if (result < 0) != (exact < 0) and units > bar(name, order) else "error"), units


class Worst:
    """The largest error of a function in one order, and how many entries are wrong altogether."""

    def __init__(self):
        self.units, self.point, self.modes, self.wrong, self.entries = 0.0, None, "", {}, 0

    def add(self, kind, units, point, modes):
        self.entries += 1
        if kind in ("nan", "sign", "infinite", "lost"):
            self.wrong.setdefault(kind, []).append((point, modes))
        elif kind == "error" and units > self.units:
            self.units, self.point, self.modes = units, point, modes


def bar(name, order):
    case = case_of(name)
    if case and order in case.bars:
        return case.bars[order]
    return VALUE_BARS.get("pow" if POWER.match(name) else name, BARS[0]) if order == 0 else BARS[order]


def probes_of(n, highest, modes="FR"):
    for order in range(highest + 1):
        for orders in itertools.product(range(order + 1), repeat=n):
            if sum(orders) == order:
                for word in itertools.product(modes, repeat=order):
                    yield orders, "".join(word)


def certify(atled, options, name, entries, highest, show=False, modes="FR"):
    points = [p for p, _ in entries]
    highest = min(highest, max(map(sum, entries[0][1])))
    probes = list(probes_of(len(next(iter(entries[0][1]))), highest, modes))
    worst = [Worst() for _ in range(highest + 1)]
    for (orders, modes), results in zip(probes, measured(atled, options, name, points, probes), strict=True):
        order = sum(orders)
        for (point, exact), result in zip(entries, results, strict=True):
            kind, units = judged(name, result, *exact[orders], order)
            worst[order].add(kind, units, point, modes)
            if show and kind and (kind != "error" or units > bar(name, order)):
                print(f"{name} {point} {orders} {modes}: {kind} {units}, result {result!r}, exact {shown_exact(exact[orders][0])}")
    return worst


def shown_exact(exact):
    return repr(exact) if isinstance(exact, float) else f"{float(exact)!r}" if abs(exact) <= LARGEST else "beyond the range"


def misses(name, worst):
    for order, w in enumerate(worst):
        if w.units > bar(name, order):
            yield f"{name}, order {order} {w.modes}: {w.units:.3g} units at {w.point}, the bar is {bar(name, order)}"
        for kind in set(w.wrong) - {"lost"}:
            yield f"{name}, order {order}: {kind} at {w.wrong[kind][:3]} ({len(w.wrong[kind])} entries)"


# ---- The document -----------------------------------------------------------------------------------------------------
def shown_units(units):
    return "0" if units < 0.005 else f"{units:.2f}" if units < 10 else f"{units:.0f}" if units < 1e6 else f"{units:.0e}"


def shown_place(point):
    return ", ".join("∞" if x == math.inf else "-∞" if x == -math.inf else f"{x:.6g}" for x in point or ())


def shown_name(name):
    return f"`{called(name)}`" if called(name) and name != "atan2" else f"`{name}`"


def shown_wrong(worst):
    return "; ".join(f"order {k}: {len(v)} {kind} ({shown_place(v[0][0])})" for k, w in enumerate(worst) for kind, v in w.wrong.items())


def table(results):
    yield "| function | points | value, ulp | at | first | second | third | wrong entries |\n|---|---|---|---|---|---|---|---|\n"
    for name, (count, worst) in results.items():
        units = [shown_units(w.units) for w in worst] + [""] * (len(BARS) - len(worst))
        yield f"| {shown_name(name)} | {count} | {units[0]} | {shown_place(worst[0].point)} | {units[1]} | {units[2]} | {units[3]} | {shown_wrong(worst)} |\n"


def shown_unit(name):
    unit = case_of(name).unit
    return f"{unit:.0e}" if isinstance(unit, float) else unit


def modules_table(results):
    yield "| function | points | unit | value | at | first | second | wrong entries |\n|---|---|---|---|---|---|---|---|\n"
    for name, (count, worst) in results.items():
        units = [shown_units(w.units) for w in worst] + [""] * (3 - len(worst))
        place = f"pair {int(worst[0].point[1]) + 1}" if name in ARRAYS and worst[0].point else shown_place(worst[0].point)
        yield f"| {shown_name(name)} | {count} | {shown_unit(name)} | {units[0]} | {place} | {units[1]} | {units[2]} | {shown_wrong(worst)} |\n"


def others():
    """Rows of bench/certificate/others.txt in which a bar is missed."""
    yield "| tool | function | value, ulp | wrong | first | wrong | second | wrong |\n|---|---|---|---|---|---|---|---|\n"
    with open(OTHERS, encoding="utf-8") as f:
        for line in f:
            if line.startswith("#"):
                continue
            tool, name, *cells = [cell.strip() for cell in line.rstrip("\n").split("|")]
            orders = enumerate(zip(cells[::2], cells[1::2], strict=True))
            if any(wrong or float(error.split()[0]) > bar(name, order) for order, (error, wrong) in orders):
                yield "| " + " | ".join([tool, shown_name(name), *[cell.removesuffix(" at") for cell in cells]]).rstrip() + " |\n"


def replaced(page, key, text):
    begin, end = BEGIN.format(key), END.format(key)
    before, rest = page.split(begin)
    return before + begin + text + end + rest.split(end)[1]


def page():
    with open(PAGE, encoding="utf-8") as f:
        return f.read()


def thinned(entries):
    """Each fifth point, and those with a zero or an infinity."""
    return [e for k, e in enumerate(entries) if k % SHARE == 0 or any(v == 0 or abs(v) == math.inf for v in e[0])]


def measured_all(atled, scalars, modules, check):
    """Functions of the prelude as machine code, those of modules in the evaluator. A check measures a part of both in the evaluator, of
    modules only reverse mode."""
    tasks = [(name, thinned(e) if check else e, "off" if check or "." in name else "always", 2 if check else 3, "FR")
             for name, e in scalars.items()]
    tasks += [(name, e[::len(e) - 1 or 1] if check else e, "off", 1 if check else 2, "R" if check else "FR") for name, e in modules.items()
              if not check or not name.startswith(SLOW)]

    def measure(task):
        name, entries, jit, highest, modes = task
        return certify(atled, [f"--jit={jit}"], name, entries, highest, modes=modes)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        worsts = list(pool.map(measure, tasks))
    return {task[0]: (len(task[1]), worst) for task, worst in zip(tasks, worsts)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--atled", required=True)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--show", metavar="PREFIX")
    arguments = parser.parse_args()
    scalars, modules = map(rows, STORED)
    stored, problems = scalars | modules, []
    if arguments.show:
        for name in [n for n in stored if n.startswith(arguments.show)]:
            worst = certify(arguments.atled, ["--jit=off"], name, stored[name], 3, show=True)
            print(name, *[f"{w.units:.3g} at {w.point}" for w in worst], sep="; ")
        return
    results = measured_all(arguments.atled, scalars, modules, arguments.check)
    if arguments.check:
        problems += [f"docs/certificate.md lacks {name}: ./dev certificate" for name in COUNTED if f"| {name} |" not in page()]
    for name, (_, worst) in results.items():
        problems += misses(name, worst)
        if arguments.check and f"| {shown_name(name)} |" not in page():
            problems.append(f"docs/certificate.md lacks {name}: ./dev certificate")
    if not arguments.check:
        made = replaced(page(), "scalar functions", "".join(table({n: r for n, r in results.items() if n in scalars})))
        made = replaced(made, "functions of modules", "".join(modules_table({n: r for n, r in results.items() if n in modules})))
        made = replaced(made, "counts", "".join(certificate_counts.table(certificate_counts.counted(arguments.atled, COUNTED))))
        made = replaced(made, "other tools", "".join(others()))
        with open(PAGE, "w", encoding="utf-8") as f:
            f.write(made)
    print("\n".join(problems) or f"{len(results)} functions keep their bars")
    sys.exit(bool(problems) and arguments.check)


if __name__ == "__main__":
    main()
