#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long the language server takes for a program of 5,000 lines: from a change to its diagnostics, and to those that
elaboration finds, and each request. Medians of 15, in milliseconds: as a client sees it, and the server's processor
time, which other programs disturb less.

usage: lsp.py --atled EXE [--check]        with --check: status 1 if the processor times exceed 40 and 150 ms"""
import argparse
import os
import pathlib
import statistics
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))
import lsp_client  # noqa: E402

RUNS = 15
UNIT = """# Model {i}: a step, a run of steps, a loss and its fit.
type point{i} = {{x : float, y : float, tag : int}}
let step{i} (p : point{i}) rate =
  let gx = 2.0 * (p.x - 1.0) + p.y in
  let gy = 2.0 * (p.y + 3.0) + p.x in
  {{p with x = p.x - rate * gx, y = p.y - rate * gy}}
let rec run{i} p n rate =
  if n = 0 then p
  else
    let q = step{i} p rate in
    run{i} q (n - 1) rate
let loss{i} w xs ys =
  let err = [ (w * x - y) ^ 2 | (x, y) in zip xs ys ] in
  sum err / float (length xs)
let fit{i} xs ys =
  let mut w = 0.0 in
  for k = 1 to 10 do
    w <- w - 0.1 * grad (fun v -> loss{i} v xs ys) w
  done;
  w
"""
TEXT = "".join(UNIT.format(i=i) for i in range(250))
LAST = TEXT.count("\n")


class Bench:
    def __init__(self, exe, folder):
        self.client = lsp_client.Client(exe, folder)
        self.uri = lsp_client.uri_of(folder / "big.atl")
        self.client.open(self.uri, TEXT)
        self.client.settle(1)

    def cpu(self):
        tasks = f"/proc/{self.client.process.pid}/task"
        return sum(int(pathlib.Path(tasks, t, "schedstat").read_text().split()[0]) for t in os.listdir(tasks)) / 1e6

    def measured(self, work):
        """Medians of both times; the server is idle before each."""
        times = []
        for k in range(RUNS):
            self.client.settle(0.4)
            begin, cpu = time.perf_counter(), self.cpu()
            work(k)
            times.append(((time.perf_counter() - begin) * 1e3, self.cpu() - cpu))
        return [statistics.median(column) for column in zip(*times)]

    def replace_last(self, text):
        place = {"line": LAST, "character": 0}
        self.client.change(self.uri, [{"range": {"start": place, "end": {"line": LAST + 1, "character": 0}}, "text": text}])

    def expect(self, code):
        found = lambda: [d["code"] for d in self.client.diagnostics.get(self.uri) or []]
        self.client.diagnostics.pop(self.uri, None)
        if not self.client.wait_for(lambda: found() == [code]):
            raise SystemExit(f"no {code}, but {found()}")

    def types(self, k):
        self.replace_last(f"let last = {k} + true\n")
        self.expect("type-mismatch")

    def elaborated(self, k):
        self.replace_last(f"let last = [{k}.0][3]\n")
        self.expect("index")

    def ask(self, method):
        params = self.client.at(self.uri, TEXT, "err / float (length", 1, context={"includeDeclaration": True})
        return self.measured(lambda k: self.client.request("textDocument/" + method, params))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--atled", required=True)
    p.add_argument("--check", action="store_true")
    o = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        b = Bench(str(pathlib.Path(o.atled).resolve()), pathlib.Path(folder).resolve())
        rows = {"types": b.measured(b.types), "elaborated": b.measured(b.elaborated)}
        b.replace_last("")
        for method in ("hover", "definition", "references", "completion", "signatureHelp", "documentSymbol", "semanticTokens/full"):
            rows[method] = b.ask(method)
        b.client.end()
    print(f"{'5,000 lines':<18}{'client, ms':>12}{'CPU, ms':>12}")
    for name, (wall, cpu) in rows.items():
        print(f"{name:<18}{wall:12.1f}{cpu:12.1f}")
    if o.check and (rows["types"][1] > 40 or rows["elaborated"][1] > 150):
        raise SystemExit("longer than 40 and 150 ms")


if __name__ == "__main__":
    main()
