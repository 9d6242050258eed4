#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Jupyter kernel, by a real client (jupyter_client): output while a cell runs, interrupts, errors, questions about names, a
kernel that is killed; and the example notebook executed by nbconvert.

usage: test_kernel.py [UNITTEST OPTIONS]; exits with 77 where ipykernel or nbconvert isn't installed, with 1 if
ATLED_KERNEL_TEST=required"""
import importlib.util
import json
import math
import os
import pathlib
import queue
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = str(ROOT / "python")
sys.path.insert(0, PACKAGE)
LACKING = [p for p in ("numpy", "ipykernel", "nbconvert") if importlib.util.find_spec(p) is None]
if LACKING:
    print(f"no {', '.join(LACKING)} (Debian: {', '.join(f'python3-{p}' for p in LACKING)})")
    sys.exit(1 if os.environ.get("ATLED_KERNEL_TEST") == "required" else 77)
import numpy as np  # noqa: E402

TIME = 60
FOLDER = tempfile.TemporaryDirectory(prefix="atled-kernel-")
HOME = pathlib.Path(FOLDER.name)
ENV = dict(os.environ, HOME=str(HOME), JUPYTER_PATH=str(HOME / "share/jupyter"), JUPYTER_RUNTIME_DIR=str(HOME / "run"),
           JUPYTER_PLATFORM_DIRS="1", XDG_CACHE_HOME=str(HOME / "cache"), XDG_STATE_HOME=str(HOME / "state"), PYTHONPATH=PACKAGE, PYDEVD_DISABLE_FILE_VALIDATION="1")


def setUpModule():
    os.environ.update(ENV)
    r = subprocess.run([sys.executable, "-m", "atled.kernel", "install", "--prefix", str(HOME)], env=ENV, capture_output=True, text=True,
                       timeout=TIME, check=False)
    assert r.returncode == 0 and str(HOME) in r.stdout, r.stderr


def tearDownModule():
    FOLDER.cleanup()


class Answer:
    """What a cell gave: its messages in order, with the seconds since it was sent; status."""

    def __init__(self, messages, reply):
        self.messages, self.reply, self.status = messages, reply, reply["status"]

    def contents(self, kind):
        return [content for _, k, content in self.messages if k == kind]

    def stream(self, name="stdout"):
        return "".join(c["text"] for c in self.contents("stream") if c["name"] == name)

    @property
    def text(self):
        found = self.contents("execute_result")
        return found[0]["data"]["text/plain"] if found else None

    @property
    def error(self):
        return re.sub(r"\x1b\[[\d;]*m", "", "\n".join(self.contents("error")[0]["traceback"]))


class Kernel:
    def __init__(self):
        from jupyter_client.manager import KernelManager
        self.manager = KernelManager(kernel_name="atled")
        self.manager.start_kernel(env=dict(os.environ))
        self.client = self.manager.blocking_client()
        self.connect()

    def connect(self):
        self.client.start_channels()
        self.client.wait_for_ready(timeout=TIME)

    def close(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

    def run(self, code, during=None, **options):
        """during(kind, content): called for each message; may interrupt, kill, answer."""
        begin, messages = time.monotonic(), []
        sent = self.client.execute(code, allow_stdin=options.pop("allow_stdin", False), **options)
        while True:
            if options is not None and self.client.allow_stdin:
                self.answer_input()
            try:
                m = self.client.get_iopub_msg(timeout=0.05)
            except queue.Empty:
                if time.monotonic() - begin > TIME:
                    raise AssertionError(f"no answer to {code!r}: {messages}") from None
                continue
            if m["parent_header"].get("msg_id") != sent:
                continue
            kind, content = m["msg_type"], m["content"]
            if kind == "status" and content["execution_state"] == "idle":
                break
            if kind not in ("status", "execute_input"):
                messages.append((time.monotonic() - begin, kind, content))
                if during:
                    during(kind, content)
        return Answer(messages, self.reply(sent))

    def reply(self, sent):
        while True:
            m = self.client.get_shell_msg(timeout=TIME)
            if m["parent_header"]["msg_id"] == sent:
                return m["content"]

    def answer_input(self):
        try:
            self.client.get_stdin_msg(timeout=0.01)
        except queue.Empty:
            return
        self.client.input(self.inputs.pop(0))

    def ask(self, request, *args, **options):
        return self.reply(getattr(self.client, request)(*args, **options))


class Cells(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kernel = Kernel()
        cls.run_cell = staticmethod(cls.kernel.run)

    @classmethod
    def tearDownClass(cls):
        cls.kernel.close()

    def test_values(self):
        a = self.run_cell("let square x = x * x\nlet k = 3\nsquare 1.5 + float k")
        self.assertEqual(a.stream(), "square : num 'a => 'a -> 'a = <fun>\nk : int = 3\n")
        self.assertEqual(a.text, "it : float = 5.25")
        self.assertEqual(self.run_cell("grad square (it + 1.0)").text, "it : float = 12.5")
        count = self.run_cell("k").contents("execute_result")[0]["execution_count"]
        self.assertEqual(self.run_cell("k + 1").contents("execute_result")[0]["execution_count"], count + 1)
        a = self.run_cell("print k")
        self.assertEqual((a.stream(), a.text), ("3\n", None))
        self.assertEqual(self.run_cell("").status, "ok")
        a = self.run_cell("k", user_expressions={"twice": "2 * k", "wrong": "k + 1.5"})
        self.assertEqual(a.reply["user_expressions"]["twice"]["data"], {"text/plain": "6"})
        self.assertEqual(a.reply["user_expressions"]["wrong"]["status"], "error")
        self.assertEqual(self.run_cell("print 7\n8", silent=True).messages, [])

    def test_rules_go_with_their_functions(self):
        self.run_cell("let thrice (x : float) = 3.0 * x")
        self.assertEqual(self.run_cell("pullback thrice x = (3.0 * x, fun d -> 30.0 * d)\ngrad thrice 1.0").text, "it : float = 30.0")

    def table(self, code):
        html = self.run_cell(code).contents("execute_result")[0]["data"]["text/html"]
        tree = xml.etree.ElementTree.fromstring(f"<div>{html}</div>")
        return [[cell.text or "" for cell in row] for row in tree.iter("tr")], tree.find("p").text

    def test_tables(self):
        rows, below = self.table("[[1.0, 2.5], [1.0 / 3.0, nan]]")
        self.assertEqual(rows, [["", "0", "1"], ["0", "1.0", "2.5"], ["1", "0.33333", "nan"]])
        self.assertEqual(below, "2 × 2")
        rows, below = self.table("[ {name = $\"<{i}>\", at = (i, 0.5), ok = i = 1} | i < 100 ]")
        self.assertEqual(rows[0], ["", "at", "name", "ok"])
        self.assertEqual(rows[2], ["1", "(1, 0.5)", "<1>", "true"])
        self.assertEqual([r[0] for r in rows[10:13]], ["9", "⋮", "90"])
        self.assertEqual((len(rows), below), (22, "100 rows"))
        rows, below = self.table("[ 100 * i + j | i < 50, j < 60 ]")
        self.assertEqual((rows[-1][-1], rows[0][11], rows[11][11], below), ("4959", "⋯", "⋮", "50 × 60"))
        rows, _ = self.table("zip [1, 2] [\"a\", \"b&\"]")
        self.assertEqual(rows, [["", "0", "1"], ["0", "1", "a"], ["1", "2", "b&"]])
        for plain in "[1.0, 2.0]", "([] : float[][])", "[sin]", "[[[1]]]", "{a = 1}":
            self.assertEqual(list(self.run_cell(plain).contents("execute_result")[0]["data"]), ["text/plain"], plain)

    def test_plots(self):
        a = self.run_cell('let p = Plot.empty |> Plot.line "a" [0.0, 1.0] [2.0, 3.0]\nPlot.show p\nprint "between"\nPlot.show p\np')
        kinds = [kind for _, kind, _ in a.messages]
        self.assertEqual(kinds[-4:], ["display_data", "stream", "display_data", "execute_result"])
        for kind in "display_data", "execute_result":
            for content in a.contents(kind):
                svg = xml.etree.ElementTree.fromstring(content["data"]["image/svg+xml"])
                self.assertTrue(svg.tag.endswith("svg"))
                self.assertIn("┤", content["data"]["text/plain"])

    def test_output_is_seen_while_the_cell_runs(self):
        a = self.run_cell('print "one"\nsleep 0.6\neprint "two"\nsleep 0.6\nprint "three"')
        times = {c["text"]: t for t, _, c in a.messages}
        self.assertEqual(list(times), ["one\n", "two\n", "three\n"])
        self.assertEqual([c["name"] for c in a.contents("stream")], ["stdout", "stderr", "stdout"])
        self.assertLess(times["one\n"], times["three\n"] - 0.5)

    def test_much_output(self):
        a = self.run_cell("for i = 1 to 100000 do print i done")
        self.assertEqual(a.stream(), "".join(f"{i}\n" for i in range(1, 100001)))
        self.assertLess(len(a.messages), 2000)

    def interrupt_when(self, sign):
        self.at = None

        def during(kind, content):
            if sign in content.get("text", "") and not self.at:
                self.at = time.monotonic()
                self.kernel.manager.interrupt_kernel()

        return during

    def test_interrupts(self):
        loops = ['print "go"\nlet mut n = 0 in while n >= 0 do n <- (n + 1) % 7 done', 'print "go"\nsleep 100.0',
                 'print "go"\nwhile true do print "going on" done']
        self.run_cell("let kept = 42")
        for loop in loops:
            a = self.run_cell(loop, during=self.interrupt_when("go"))
            self.assertLess(time.monotonic() - self.at, 5)
            self.assertEqual((a.status, a.reply["ename"]), ("error", "interrupt"), loop)
            self.assertEqual(self.run_cell("kept").text, "it : int = 42")
        self.kernel.manager.interrupt_kernel()  # nothing runs
        time.sleep(0.2)
        self.assertEqual(self.run_cell("kept").text, "it : int = 42")

    def test_errors(self):
        a = self.run_cell("# above\nlet f x =\n  1 + \"a\"\nlet later = 1")
        content = a.contents("error")[0]
        self.assertEqual((a.status, content["ename"]), ("error", "type-mismatch"))
        self.assertIn("\x1b[", content["traceback"][0])
        place = re.search(r"^In\[(\d+)\]:3:7: error: ", a.error, re.M)
        self.assertEqual(int(place[1]), a.reply["execution_count"])
        self.assertIn('   3 |   1 + "a"\n     |       ^^^', a.error)
        self.assertIn("1 item behind the error wasn't evaluated", a.error)
        self.assertEqual(self.run_cell("later").status, "error")
        a = self.run_cell("let kept = 1\nlet bad = [1, 2][kept + 4]")
        self.assertEqual(a.reply["ename"], "index")
        self.assertEqual(self.run_cell("kept").text, "it : int = 1")
        a = self.run_cell("let g x = match x with Some y -> y\ng (Some 1)")
        self.assertEqual(a.text, "it : int = 1")
        self.assertIn("warning", a.stream("stderr"))
        a = self.run_cell("exit 3\nprint 1")
        self.assertEqual((a.reply["evalue"], a.stream()), ("the program called exit 3", ""))
        a = self.run_cell('test "good" = 1 = 1\ntest "bad" = 1 = 2')
        self.assertEqual((a.reply["ename"], a.stream()), ("test", 'passed: "good"\n'))
        self.assertIn('FAILED: "bad"', a.error)
        self.assertEqual(self.run_cell("1 \0").status, "error")
        self.assertEqual(self.run_cell("1").status, "ok")

    def test_input(self):
        a = self.run_cell("print (read_line ())")
        self.assertIn("this front end takes no input", a.error)
        self.kernel.inputs, self.kernel.client.allow_stdin = ["first line", "second"], True
        try:
            a = self.run_cell("print (read_line ())\nprint (read_line ())", allow_stdin=True)
        finally:
            self.kernel.client.allow_stdin = False
        self.assertEqual(a.status, "ok", a.messages)
        self.assertEqual(a.stream(), 'Some "first line"\nSome "second"\n')

    def test_commands(self):
        a = self.run_cell(":type sin\nlet own x = x + 1.0\n:type own\n:doc abs\n:time own 1.0")
        self.assertRegex(a.stream(), r"^float -> float\nown : float -> float = <fun>\nfloat -> float\nabs : ")
        self.assertRegex(a.stream(), r"time: \S+ .?s\n$")
        self.assertEqual(a.text, "it : float = 2.0")
        a = self.run_cell(":time 1\n2")
        self.assertEqual((len(a.contents("execute_result")), a.text), (1, "it : int = 2"))
        self.assertIn("graph own", self.run_cell(":ir own").stream())
        self.assertEqual(self.run_cell(":set digits 2\n[2.0 / 3.0]").text, "it : float[] = [0.67]  # 1")
        self.run_cell(":set digits 5")
        self.assertEqual(self.run_cell("let gone = 1\n:undo").stream(), "gone : int = 1\ntaken back: `gone`\n")
        for wrong in ":nothing", ":type", ":type 1 +", ":doc nothing_of_this_name", ":set digits x", ":ir --none sin":
            self.assertEqual(self.run_cell(wrong).status, "error", wrong)

    def test_imports_are_read_again(self):
        path = HOME / "module.atl"
        cell = f'import "{path}" as Module\nModule.x'
        for x in 1, 2:
            path.write_text(f"let x = {x}\n")
            self.assertEqual(self.run_cell(cell).text, f"it : int = {x}")
        path.write_text("let x =\n")
        self.assertIn("module.atl:1:", self.run_cell(cell).error)
        path.write_text("let loaded = 5\n")
        self.assertEqual(self.run_cell(f":load {path}\nloaded").text, "it : int = 5")
        self.assertEqual(self.run_cell(":load /nowhere/nothing.atl").status, "error")

    def test_quit(self):
        """Consoles end by it."""
        self.assertEqual(self.run_cell(":quit").reply["payload"], [{"source": "ask_exit", "keepkernel": False}])
        self.assertEqual(self.run_cell("1").reply["payload"], [])

    def test_commands_are_those_of_the_prompt(self):
        from atled.kernel import commands
        rows = (ROOT / "repl/commands.def").read_text()
        at_prompt = {name: (arguments, help_) for name, arguments, help_ in
                     re.findall(r'^COMMAND\(\w+, "(\w+)", "(.*?)", ".*?", "(.*)"\)$', rows, re.M)}
        for name, (arguments, what, _) in commands.COMMANDS.items():
            if name != "clear":  # of all alone: there is no screen
                self.assertEqual((arguments, what), at_prompt[name])
        self.assertEqual(set(at_prompt) - set(commands.COMMANDS), {"reload", "edit", "save"})

    def test_derivatives(self):
        self.run_cell("let f x = x * log x\nlet whole x = floor x * x")
        self.assertIn("let grad_f (x : float) : float =", self.run_cell(":grad f").stream())
        self.assertIn("`floor` is a step", self.run_cell(":why whole 1.5").stream())
        self.assertIn("digits", self.run_cell(":check f 2.0").stream())
        self.run_cell(":trap nan")
        self.assertEqual(self.run_cell(":trap").stream(), "nan\n")
        self.assertIn("yields NaN", self.run_cell("f 0.0").error)
        self.run_cell(":trap off")

    def test_questions(self):
        self.run_cell("# The area of a circle.\nlet circle_area (r : float) = pi * r * r")
        ask = self.kernel.ask
        a = ask("complete", "print (circle_a 1.0)", 15)
        self.assertEqual((a["matches"], a["cursor_start"], a["cursor_end"]), (["circle_area"], 7, 15))
        typed, = a["metadata"]["_jupyter_types_experimental"]
        self.assertEqual((typed["text"], typed["type"], typed["signature"]), ("circle_area", "function", "float -> float"))
        typed = ask("complete", "Optim.Convergedx", 12)["metadata"]["_jupyter_types_experimental"]
        self.assertEqual([(t["text"], t["type"]) for t in typed], [("Converged", "class")])
        a = ask("complete", 'let é = "∇"\nPlot.lin', 20)
        self.assertEqual((a["matches"], a["cursor_start"]), (["line"], 17))
        self.assertEqual(ask("complete", ":ty", 3)["matches"], ["type"])
        for text, offered in ("let point = {xa = 1, xb = 2}\npoint.x", ["xa", "xb"]), ("let f alphabet = alph", ["alphabet"]), \
                (":type 1\nlet newest = 1\nnewe", ["newest"]), ("circle_area newes", []):
            self.assertEqual(ask("complete", text, len(text))["matches"], offered, text)
        for place in -5, 99:  # beyond the text
            a = ask("complete", "circle_a", place)
            self.assertEqual((a["cursor_start"], a["cursor_end"]), (0, max(0, min(place, 8))))
        self.assertNotIn("::", ask("complete", "", 0)["matches"])
        a = ask("inspect", "circle_area 2.0", 3)
        self.assertEqual((a["found"], a["status"]), (True, "ok"))
        self.assertIn("circle_area : float -> float\n", a["data"]["text/plain"])
        self.assertIn("The area of a circle.", a["data"]["text/plain"])
        self.assertIn("pi * r * r", ask("inspect", "circle_area 2.0", 14, 1)["data"]["text/plain"])
        self.assertFalse(ask("inspect", "nothing_of_this_name", 3)["found"])
        for text, state in ("let x = 1", "complete"), ("let x =", "incomplete"), ("let f x =\n  x", "incomplete"), \
                ("let f x =\n  x\n", "complete"), ("let )", "invalid"), ("if true then 1", "incomplete"):
            self.assertEqual(ask("is_complete", text)["status"], state, text)
        info = ask("kernel_info")
        self.assertEqual((info["implementation"], info["language_info"]["file_extension"]), ("atled", ".atl"))
        self.run_cell("1234321")
        found = ask("history", raw=True, output=False, hist_access_type="tail", n=1)["history"]
        self.assertEqual(found[0][2], "1234321")


class Ends(unittest.TestCase):
    ENDLESS = 'print "go"\nwhile true do () done'

    def test_kernel_is_killed(self):
        """While it runs and while its compiler works: the client is told, nothing is left, and the next kernel works."""
        kernel = Kernel()
        try:
            compiled = ":jit always\nlet slow (x : float) = sum [ sin (x * float i) | i < 1000 ]\nslow 1.0"
            a = kernel.run(compiled)
            self.assertAlmostEqual(float(a.text.split()[-1]), sum(math.sin(i) for i in range(1000)), places=9)
            pid = self.pid_of(kernel)
            kernel.run('print "two\\nlines \\\\"\n1')
            self.begin_endless_cell(kernel)
            os.kill(pid, signal.SIGKILL)
            end = time.monotonic() + TIME
            while kernel.manager.is_alive() or self.compilers():
                self.assertLess(time.monotonic(), end)
                time.sleep(0.05)
            kernel.manager.restart_kernel(now=True, env=dict(os.environ))
            kernel.client.wait_for_ready(timeout=TIME)
            self.assertEqual(kernel.run("slow 1.0").status, "error")  # of the session that is gone
            self.assertEqual(kernel.run(compiled).text, a.text)  # by machine code that is kept
            found = kernel.ask("history", raw=True, output=False, hist_access_type="tail", n=4)["history"]
            self.assertEqual([e[2] for e in found], ['print "two\\nlines \\\\"\n1', self.ENDLESS, "slow 1.0", compiled])
            found = kernel.ask("history", raw=True, output=False, hist_access_type="search", pattern="print \"two*", unique=True)["history"]
            self.assertEqual(len(found), 1)
            found = kernel.ask("history", raw=True, output=False, hist_access_type="range", session=0, start=1, stop=3)["history"]
            self.assertEqual([e[1:] for e in found], [[1, "slow 1.0"], [2, compiled]])
        finally:
            kernel.close()

    def test_kernel_ends(self):
        """As Jupyter wishes, while a cell runs."""
        kernel = Kernel()
        try:
            self.begin_endless_cell(kernel)
            kernel.client.shutdown()
            end = time.monotonic() + TIME
            while kernel.manager.is_alive():
                self.assertLess(time.monotonic(), end)
                time.sleep(0.05)
        finally:
            kernel.close()

    @classmethod
    def begin_endless_cell(cls, kernel):
        kernel.client.execute(cls.ENDLESS)
        while kernel.client.get_iopub_msg(timeout=TIME)["content"].get("text") != "go\n":
            pass

    @staticmethod
    def pid_of(kernel):
        found = getattr(kernel.manager, "provisioner", None)
        return found.pid if found else kernel.manager.kernel.pid

    @staticmethod
    def compilers():
        """Processes of GCC whose cache is this test's."""
        found = []
        for p in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if b"atled-compiler" in (p / "cmdline").read_bytes() and FOLDER.name.encode() in (p / "environ").read_bytes():
                    found.append(p.name)
            except OSError:
                pass
        return found


class Notebook(unittest.TestCase):
    def execute(self, path, *options):
        out = HOME / "executed.ipynb"
        r = subprocess.run([sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", *options, "--output", str(out), str(path)],
                           env=ENV, cwd=ROOT / "examples", capture_output=True, text=True, timeout=2 * TIME, check=False)
        return r, json.loads(out.read_text()) if r.returncode == 0 else None

    def test_example(self):
        """Its figures, beside those of a fit made here; its outputs, beside those that are kept in it."""
        r, executed = self.execute(ROOT / "examples/notebook.ipynb")
        self.assertEqual(r.returncode, 0, r.stderr)
        outputs = [o for cell in executed["cells"] for o in cell.get("outputs", [])]
        data = [o["data"] for o in outputs if "data" in o]
        rate, start, room, deviations, errors = fit_of_coffee()
        record = re.search(r"rate = (.*),\s+room = (.*),\s+start = (.*)}", "".join(data[0]["text/plain"]))
        np.testing.assert_allclose([float(x) for x in record.groups()], [rate, room, start], rtol=1e-6)
        rows = table_of(data[2])
        self.assertEqual(rows[0], ["", "deviation", "name", "value"])
        np.testing.assert_allclose([float(r[1]) for r in rows[1:]], deviations, rtol=1e-4)
        np.testing.assert_allclose([float(r[1]) for r in table_of(data[3])[1:]], errors, rtol=1e-3, atol=1e-5)
        pictures = [xml.etree.ElementTree.fromstring("".join(d["image/svg+xml"])) for d in data if "image/svg+xml" in d]
        self.assertEqual(len(pictures), 3)
        kept = json.loads((ROOT / "examples/notebook.ipynb").read_text())
        for was, now in zip(kept["cells"], executed["cells"]):
            self.assertTrue(alike(shown(was), shown(now)), f"{shown(was)}\nis now\n{shown(now)}")

    def execute_cells(self, *sources):
        path = HOME / "wrong.ipynb"
        cells = [{"cell_type": "code", "metadata": {}, "source": s, "outputs": [], "execution_count": None} for s in sources]
        spec = {"name": "atled", "display_name": "Atled", "language": "atled"}
        path.write_text(json.dumps({"cells": cells, "metadata": {"kernelspec": spec}, "nbformat": 4, "nbformat_minor": 4}))
        r, _ = self.execute(path)
        self.assertNotEqual(r.returncode, 0)
        return r.stderr

    def test_error_stops_it(self):
        self.assertRegex(self.execute_cells("let x = 1", "x + 1.5", "print x"), r"In\[2\]:1:\d")

    def test_kernel_that_dies(self):
        self.assertIn("Kernel died", self.execute_cells('foreign "libc.so.6!" raise : int -> int\nprint 1', "raise 9"))


def fit_of_coffee():
    """rate, start and room of the example's notebook, by Gauss and Newton's method; their deviations, and the errors."""
    t = np.array([0, 4, 8, 12, 16, 20, 26, 32, 40, 50, 60.0])
    y = np.array([84.3, 76.9, 70.6, 65.4, 59.8, 55.9, 49.9, 44.7, 39.6, 34.2, 30.9])
    p = np.array([0.02, 20.0, 80.0])
    for _ in range(50):
        decay = np.exp(-p[0] * t)
        errors = y - (p[1] + (p[2] - p[1]) * decay)
        slopes = np.stack([-(p[2] - p[1]) * t * decay, 1 - decay, decay], axis=1)
        p = p + np.linalg.lstsq(slopes, errors, rcond=None)[0]
    covariance = np.linalg.inv(slopes.T @ slopes) * (errors @ errors) / (len(t) - 3)
    return p[0], p[2], p[1], np.sqrt(np.diag(covariance)), errors


def table_of(data):
    tree = xml.etree.ElementTree.fromstring(f"<div>{''.join(data['text/html'])}</div>")
    return [[cell.text or "" for cell in row] for row in tree.iter("tr")]


def shown(cell):
    """What is seen of a cell's outputs. Neighbouring pieces of a stream are one, or several: that is a matter of time."""
    parts = ["".join(part) for o in cell.get("outputs", []) for part in [o.get("text", ""), *o.get("data", {}).values()]]
    return re.sub(r"\n+", "\n", "\n".join(parts))


NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def alike(a, b):
    """The same but for digits of numbers, which differ between machines."""
    pairs = zip(NUMBER.findall(a), NUMBER.findall(b))
    return NUMBER.sub("#", a) == NUMBER.sub("#", b) and all(
        math.isclose(float(x), float(y), rel_tol=1e-3, abs_tol=0.02 if "." in x else 0) for x, y in pairs)


class Lexer(unittest.TestCase):
    def test_colours(self):
        """Of all programs, beside the lexer of the formatter's test."""
        from pygments.token import Comment, Keyword, Number, String

        from atled.kernel.lexer import AtledLexer
        sys.path.insert(0, str(ROOT / "tests"))
        import test_editors

        def of(kind):
            if kind is Keyword.Type:
                return "."
            return next((c for c, group in (("c", Comment), ("s", String), ("n", Number), ("k", Keyword)) if kind in group), ".")

        for name, text in test_editors.programs(ROOT):
            found = "".join(of(kind) * len(part) for kind, part in AtledLexer(stripnl=False, ensurenl=False).get_tokens(text))
            self.assertEqual(len(found), len(text))
            wrong = list(test_editors.differences(name, text, found, test_editors.by_python(text), "the other lexer"))
            self.assertEqual(wrong, [])


class Installing(unittest.TestCase):
    def run_python(self, *arguments):
        return subprocess.run([sys.executable, *arguments], env=ENV, capture_output=True, text=True, timeout=TIME, check=False)

    def test_options(self):
        r = self.run_python("-m", "atled.kernel", "install", "--user", "--name", "other", "--display-name", "Other")
        self.assertEqual(r.returncode, 0, r.stderr)
        folder, = HOME.rglob("kernels/other")
        spec = json.loads((folder / "kernel.json").read_text())
        self.assertEqual((spec["display_name"], spec["argv"][0], spec["env"]["PYTHONPATH"]), ("Other", sys.executable, PACKAGE))
        xml.etree.ElementTree.parse(folder / "logo-svg.svg")

    def test_messages(self):
        lacking = "import sys; sys.modules['ipykernel'] = None; sys.argv = ['x', 'install']; from atled.kernel.__main__ import main; main()"
        for arguments, message in (("-c", lacking), "needs ipykernel"), \
                (("-m", "atled.kernel", "install", "--prefix", "/proc/nowhere"), "can't install the kernel's description"):
            r = self.run_python(*arguments)
            self.assertEqual(r.returncode, 1)
            self.assertIn(message, r.stderr)
            self.assertNotIn("Traceback", r.stderr)


if __name__ == "__main__":
    unittest.main()
