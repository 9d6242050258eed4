#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Python package: values in both directions, derivatives, errors, memory, threads.

usage: test_atled.py [UNITTEST OPTIONS]; the library as atled._library finds it."""
import contextlib
import ctypes
import dataclasses
import gc
import io
import math
import os
import pathlib
import re
import resource
import signal
import sys
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
import numpy as np  # noqa: E402

import atled  # noqa: E402
from atled import _library  # noqa: E402

SOURCE = """
type line = {slope : float, offset : float}
type shape = Dot | Circle of float | Rect of float * float
# The mean squared error of a line.
let loss (p : line) (xs : float[]) (ys : float[]) = mean [ (p.slope * x + p.offset - y) ^ 2 | (x, y) in zip xs ys ]
let square x = x * x
let wave (x : float) (y : float) = sin x * y
let rosenbrock (x : float[]) = sum [ 100.0 * (x[i + 1] - x[i] ^ 2) ^ 2 + (1.0 - x[i]) ^ 2 | i < length x - 1 ]
let identity (x : float[]) = x
let double (m : float[][]) = 2.0 * m
let add (ks : int[]) (n : int) = [ k + n | k in ks ]
let flip (bs : bool[]) = [ not b | b in bs ]
let names = ["anna", "bërt", ""]
let words (s : string) = Str.split " " s
let count (ss : string[]) = length ss
let pick (o : int option) = match o with Some n -> n | None -> -1
let first (xs : float list) = match xs with x :: _ -> Some x | Nil -> None
let logarithm (x : float) = if x > 0.0 then Ok (log x) else Error "negative"
let area s = match s with Dot -> 0.0 | Circle r -> pi * r * r | Rect (a, b) -> a * b
let shapes = [Dot, Circle 1.0, Rect (2.0, 3.0)]
let table (n : int) = [ {name = $"row {i}", at = (i, 0.5 * float i)} | i < n ]
let nested (xs : (float[] * string)[]) = sum [ sum x | (x, _) in xs ]
let at (xs : float[]) (i : int) = xs[i]
let nothing () = ()
let forever (n : int) = let mut k = 0 in while k >= 0 do k <- (k + n) % 1000 done; k
let leave (n : int) = (exit n; n)
"""
m = atled.program(SOURCE, "source.atl")


class Values(unittest.TestCase):
    def test_scalars(self):
        self.assertAlmostEqual(m.wave(0.5, 2), 2 * math.sin(0.5), places=15)
        self.assertAlmostEqual(m.wave(np.float32(0.5), np.int64(2)), 2 * math.sin(0.5), places=15)
        self.assertEqual((m.square(3), m.square(1.5), type(m.square(3))), (9, 2.25, int))
        self.assertIsNone(m.nothing(None))

    def test_arrays_of_each_element(self):
        np.testing.assert_array_equal(m.add([1, 2], 3), [4, 5])
        self.assertEqual(m.add([1, 2], 3).dtype, np.int64)
        np.testing.assert_array_equal(m.flip(np.array([True, False])), [False, True])
        self.assertEqual(m.names, ["anna", "bërt", ""])
        self.assertEqual((m.words("a bc d"), m.count(["x", "y"])), (["a", "bc", "d"], 2))
        self.assertEqual(m.identity([]).shape, (0,))

    def test_strided_arrays(self):
        a = np.arange(24.0).reshape(4, 6)
        for x in (a, a.T, a[::2, ::-3], a[1:, 2:], a.astype(np.float32), a.astype(">f8"), a[:, :0]):
            np.testing.assert_array_equal(m.double(x), 2.0 * x)

    def test_records(self):
        line = {"slope": 1.0, "offset": 0.5}
        point = dataclasses.make_dataclass("Line", ["slope", "offset", "other"])(1.0, 0.5, "x")
        xs = np.linspace(0.0, 1.0, 5)
        self.assertEqual(m.loss(line, xs, 2 * xs + 1), 1.125)
        self.assertEqual(m.loss(point, xs, 2 * xs + 1), 1.125)
        g = atled.grad(m.loss)(line, xs, 2 * xs + 1)
        self.assertEqual((type(g).__name__, g.slope, g.offset), ("Line", -1.25, -2.0))
        rows = m.table(2)
        self.assertEqual([(r.name, r.at) for r in rows], [("row 0", (0, 0.0)), ("row 1", (1, 0.5))])

    def test_variants_options_lists(self):
        self.assertEqual((m.pick(None), m.pick(4)), (-1, 4))
        self.assertEqual((m.first([1.5, 2.0]), m.first([])), (1.5, None))
        self.assertEqual(m.logarithm(1.0), atled.Variant("Ok", 0.0))
        self.assertEqual(m.logarithm(-1.0), atled.Variant("Error", "negative"))
        self.assertEqual([m.area(s) for s in m.shapes], [0.0, np.pi, 6.0])
        self.assertEqual(m.nested([(np.ones(3), "a"), ([2.0], "b")]), 5.0)

    def test_functions_as_arguments(self):
        np.testing.assert_array_equal(m("map")(m.square, [1.0, 3.0]), [1.0, 9.0])
        self.assertEqual(m("fun x -> square x + 1.0")(2.0), 5.0)
        self.assertEqual(m("1 + 2"), 3)

    def test_names_and_documentation(self):
        self.assertIn("rosenbrock", dir(m))
        self.assertIn("The mean squared error", m.loss.__doc__)
        self.assertEqual(m.wave(y=2.0, x=0.0), 0.0)
        self.assertEqual(m.wave(0.0, y=2.0), 0.0)
        with self.assertRaisesRegex(TypeError, "parameters x, y"):
            m.wave(0.0, z=2.0)


class Derivatives(unittest.TestCase):
    x = np.array([0.3, -0.2, 0.7])

    def test_first_order(self):
        g = atled.grad(m.rosenbrock)(self.x)
        for k in range(3):
            e = np.eye(3)[k] * 1e-6
            self.assertAlmostEqual(g[k], (m.rosenbrock(self.x + e) - m.rosenbrock(self.x - e)) / 2e-6, places=5)
        y, g2 = atled.value_and_grad(m.rosenbrock)(self.x)
        self.assertEqual(y, m.rosenbrock(self.x))
        np.testing.assert_array_equal(g, g2)

    def test_positions(self):
        self.assertAlmostEqual(atled.grad(m.wave)(0.5, 2.0), 2 * np.cos(0.5), places=15)
        self.assertAlmostEqual(atled.grad(m.wave, 1)(0.5, 2.0), math.sin(0.5), places=15)
        self.assertAlmostEqual(atled.grad(m.wave, -1)(0.5, 2.0), math.sin(0.5), places=15)
        self.assertEqual(len(atled.grad(m.wave, (0, 1))(0.5, 2.0)), 2)
        with self.assertRaisesRegex(TypeError, "argnums 2 of 2"):
            atled.grad(m.wave, 2)(0.5, 2.0)

    def test_others(self):
        u = np.array([1.0, 2.0, -1.0])
        g, h = atled.grad(m.rosenbrock)(self.x), atled.hessian(m.rosenbrock)(self.x)
        np.testing.assert_allclose(atled.jvp(m.rosenbrock)(self.x, u)[1], g @ u, rtol=1e-13)
        np.testing.assert_allclose(atled.hvp(m.rosenbrock)(self.x, u), h @ u, rtol=1e-13)
        np.testing.assert_allclose(h, h.T, rtol=1e-13)
        np.testing.assert_array_equal(atled.vjp(m.double)(np.ones((2, 2)), np.eye(2))[1], 2 * np.eye(2))
        np.testing.assert_array_equal(atled.jacobian(m.identity)(self.x), np.eye(3))
        self.assertEqual(atled.grad(atled.grad(m.square))(3.0), 2.0)


class Errors(unittest.TestCase):
    def raises(self, kind, text, f):
        with self.assertRaisesRegex(kind, text) as caught:
            f()
        return caught.exception

    def test_places(self):
        e = self.raises(atled.EvaluationError, "out of bounds", lambda: m.at([1.0], 5))
        self.assertEqual((e.file, e.line, e.kind), ("source.atl", 1 + SOURCE[:SOURCE.index("xs[i]")].count("\n"), "index"))
        e = self.raises(atled.CompileError, "let x = 1 \\+ true", lambda: atled.program("let x = 1 + true"))
        self.assertEqual((e.line, e.column), (1, 13))
        self.raises(atled.CompileError, "end of the input", lambda: atled.program("let x = ("))
        self.raises(atled.ArgumentError, "can't read", lambda: atled.load("/nonexistent/x.atl"))

    def test_arguments(self):
        for text, f in [("`x`: a float is needed, not str", lambda: m.wave("a", 1.0)), ("2 arguments are needed", lambda: m.wave(1.0)),
                        ("`xs`: an array of 1 dimension is needed, not of 2", lambda: m.at(np.ones((2, 2)), 0)),
                        ("fields offset, slope", lambda: m.loss({"slope": 1.0}, [1.0], [1.0])),
                        ("no field `extra`", lambda: m.loss({"slope": 1.0, "offset": 1.0, "extra": 1.0}, [1.0], [1.0])),
                        ("float64 is needed, not of complex", lambda: m.identity(np.ones(3, complex))),
                        ("int64 is needed, not of float64", lambda: m.add(np.ones(3), 1)), ("an int is needed", lambda: m.at([1.0], 0.0)),
                        ("a str is needed", lambda: m.words(3)), ("Variant of Dot", lambda: m.area("Dot")),
                        ("a function of Atled is needed", lambda: atled.grad(np.sin)), ("tuple of 2", lambda: m.nested([(1.0,)])),
                        ("polymorphic", lambda: m.square(object()))]:
            self.raises(TypeError, text, f)
        self.raises(AttributeError, "no `unknown`", lambda: m.unknown)

    def test_the_program_goes_on(self):
        for _ in range(3):
            self.raises(atled.EvaluationError, "bounds", lambda: m.at([1.0], 5))
            self.assertEqual(m.at([1.0], 0), 1.0)
        self.assertEqual(self.raises(atled.Exit, "exit 3", lambda: m.leave(3)).status, 3)

    def test_interrupt(self):
        own = atled.program(SOURCE)
        threading.Timer(0.3, own.interrupt).start()
        self.assertEqual(self.raises(atled.EvaluationError, "", lambda: own.forever(1)).kind, "interrupt")
        self.assertEqual(own.square(2.0), 4.0)


class Memory(unittest.TestCase):
    def test_results_outlive_calls_and_programs(self):
        own = atled.program("let scaled (x : float[]) k = [ k * y | y in x ]")
        results = [own.scaled(np.arange(4.0), float(k)) for k in range(50)]
        own = None
        gc.collect()
        for k, r in enumerate(results):
            np.testing.assert_array_equal(r, k * np.arange(4.0))
            self.assertFalse(r.flags.writeable)

    def test_no_copies(self):
        big = np.ones(10**7)
        y = m.identity(big)
        self.assertEqual(y.ctypes.data, big.ctypes.data)
        kept = np.frombuffer(m.identity(np.arange(5.0)))  # the argument lives as long as the result
        gc.collect()
        np.testing.assert_array_equal(kept, np.arange(5.0))

    def test_no_growth(self):
        def peak():
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

        x = np.ones((300, 300))
        for _ in range(100):
            m.double(x)
        before = peak()
        for _ in range(1000):
            m.double(x)
            m.double(x.T)
        for k in range(30):
            atled.program(SOURCE).square(float(k))
        self.assertLess(peak() - before, 60000)

    def test_threads(self):
        results, errors = {}, []

        def work(k):
            try:
                results[k] = [m.wave(float(k), 1.0) for _ in range(300)] + [m.double(np.full((2, 2), k))[0, 0]]
            except Exception as e:  # noqa: BLE001
                errors.append(e)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(60)
        self.assertEqual(errors, [])
        for k in range(8):
            self.assertEqual(len(set(results[k][:300])), 1)
            self.assertAlmostEqual(results[k][0], math.sin(k), places=15)
            self.assertEqual(results[k][300], 2.0 * k)


class Programs(unittest.TestCase):
    def test_output_goes_to_python(self):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            atled.program('print "here"\neprint "there"')
        self.assertEqual((out.getvalue(), err.getvalue()), ("here\n", "there\n"))

    def test_limits_and_modes(self):
        for jit in ("auto", "off", "always"):
            own = atled.program(SOURCE, jit=jit, strict=True, time_limit=5.0)
            self.assertEqual(own.square(3.0), 9.0)
        parallel = atled.program("let f x = sum (pmap (fun i -> sin (x * float i)) [ i | i < 1000 ])", threads=2)
        alone = atled.program("let f x = sum (pmap (fun i -> sin (x * float i)) [ i | i < 1000 ])", threads=1)
        self.assertEqual(parallel.f(0.3), alone.f(0.3))
        slow = atled.program(SOURCE, jit="off", time_limit=0.2)
        with self.assertRaises(atled.EvaluationError) as caught:
            slow.forever(1)
        self.assertEqual(caught.exception.kind, "time")
        with self.assertRaises(atled.EvaluationError) as caught:
            atled.program("let f x = x * log x", trap="nan").f(0.0)
        self.assertEqual((caught.exception.kind, caught.exception.line), ("nan", 1))
        with self.assertRaises(atled.OutOfMemory):
            atled.program("let big = [ float i | i < 100000000 ]", memory_limit=100000000)
        with self.assertRaises(ValueError):
            atled.Program(jit="sometimes")

    def test_structures_are_the_headers(self):
        text = (ROOT / "tests/abi.txt").read_text()
        for name, structure in _library.STRUCTURES.items():
            fields = re.findall(rf"^field {name}\.(\w+): offset (\d+), (\d+) bytes", text, re.M)
            own = {f[0]: getattr(structure, f[0]) for f in structure._fields_}
            self.assertTrue(fields)
            for field, offset, size in fields:
                place = own["as_" if field == "as" else field]
                self.assertEqual((place.offset, place.size), (int(offset), int(size)), f"{name}.{field}")
            self.assertIn(f"structure {name}: {ctypes.sizeof(structure)} bytes", text)
        self.assertIn(_library.SONAME[-1], re.search(r"SOVERSION (\d)", (ROOT / "CMakeLists.txt").read_text())[1])
        self.assertEqual(_library.lib.atled_version().decode(), atled.__version__)


class Interrupts(unittest.TestCase):
    def test_of_a_call(self):
        for jit in "auto", "always", "off":
            m = atled.program("let rec spin n = if n < 0 then 0.0 else spin (n + 1)\nlet square (x : float) = x * x", jit=jit)
            timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
            timer.start()
            start = time.monotonic()
            with self.assertRaises(KeyboardInterrupt):
                m.spin(0)
            self.assertLess(time.monotonic() - start, 5)  # without it the call has no end
            timer.join()
            self.assertEqual(m.square(3.0), 9.0)

    def test_between_calls(self):
        m = atled.program("let square (x : float) = x * x")
        with self.assertRaises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
        time.sleep(0.1)
        self.assertEqual(m.square(3.0), 9.0)


class Documentation(unittest.TestCase):
    def test_the_example(self):
        text = (pathlib.Path(__file__).resolve().parents[1] / "README.md").read_text()
        names = {}
        for block in re.findall(r"```python\n(.*?)```", text, re.S):
            lines = block.split("\n")
            code = "\n".join(x for x in lines if "# =>" not in x)
            exec(code, names)
            for line in lines:
                expression, arrow, wanted = line.partition("# =>")
                if arrow:
                    self.assertEqual(repr(eval(expression, names)), wanted.strip())


if __name__ == "__main__":
    unittest.main()
