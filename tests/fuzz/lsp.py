#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random edits of open documents, sent to `atled lsp`.

usage: lsp.py EXE [--edits N] [--seed S] [--every K]

Three documents, of which two import others, are changed at random: texts inserted, deleted and replaced, in ranges of
UTF-16, several at once, with all ends of lines and characters beyond 16 bits; at times a document becomes a good
program again. Requests about random places come in between. After every K edits the server's text must be the
client's, and its diagnostics those of `atled check` of files with these texts; on the disk there is something else
meanwhile. The server's memory must not grow with the edits. Exit status 1: something differs, or the server ended."""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import lsp_client  # noqa: E402

PIECES = ["(", ")", "[", "]", "{", "}", "let ", " in ", "x", "1.0", "2", " + ", " = ", "\n", "\r\n", "\r", "\n\n", "\t", "\"", "$\"{",
          "# ∂\n", "(* ", " *)", "α", "𝛼", "😀", "é", "\n# 𝛼😀\n", "if ", " then ", " else ", "match x with | ", "fun x -> ", " |> ", "Leaf.",
          "Tree.", "'", ".", "_", "\nlet y = ", "\nlet f x = x\n", "a[0]", "[1.0, 2.0]", "\nprint ([1, 2][5])\n", "\0", "import \"leaf.atl\" as L\n",
          "let squar = 3 in squar2", "grad (fun x -> x * x) 2.0", "\ntest \"t\" = true\n", "open Leaf\n"]
LEAF = """# Leaves.
type leaf = {size : float, name : string}
let make size = {size, name = "blatt 𝛼"}
let half l = {l with size = l.size / 2.0}
"""
TREE = """import "leaf.atl" as Leaf
type tree = End | Fork of tree * Leaf.leaf * tree
let rec total t = match t with
  | End -> 0.0
  | Fork (a, l, b) -> total a + l.size + total b
let grow n = Fork (End, Leaf.half (Leaf.make n), End)  # 😀 grows
print (total (grow 3.0))
"""
MAIN = """import "tree.atl" as Tree
import "./leaf.atl" as Leaf
let loss w = sum [ (x * w - 1.0) ^ 2 | x in [1.0, 2.0, 3.0] ]
let slope = grad loss 0.5
let l = Leaf.make slope
let rec count t n = if n = 0 then t else count (Tree.Fork (t, l, Tree.End)) (n - 1)
print (Tree.total (count Tree.End 3))
let bad = [1.0, 2.0][2]
test "positive" = Tree.total Tree.End >= 0.0
"""
METHODS = ["hover", "definition", "references", "documentHighlight", "completion", "signatureHelp", "prepareRename"]
ALLOWED = {-32803, -32602}  # a request that can't be met


def good_texts(folder):
    return {folder / "leaf.atl": [LEAF], folder / "tree.atl": [TREE], folder / "main.atl": [MAIN, MAIN.replace("[2]", "[1]")]}


def random_range(rng, text):
    a = rng.randrange(len(text) + 1)
    b = min(len(text), a + rng.choice([0, 0, 0, 1, 1, 2, 5, 20, 80]))
    if "\r\n" in text[a - 1:a + 1] or "\r\n" in text[b - 1:b + 1]:  # no place of the protocol lies between these
        return len(text), len(text)
    return a, b


def random_change(rng, text, pool):
    """A change, and the text after it."""
    if rng.random() < 0.1:
        new = rng.choice(pool)
        return {"text": new}, new
    a, b = random_range(rng, text)
    piece = rng.choice(PIECES) if rng.random() < 0.7 else ""
    if rng.random() < 0.1:
        c, d = random_range(rng, text)
        piece = text[c:d]
    places = {"start": lsp_client.position(text, a), "end": lsp_client.position(text, b)}
    return {"range": places, "text": piece}, text[:a] + piece + text[b:]


def undone(rng, history, change):
    return rng.choice(history) if rng.random() < change else None


def checked(exe, path, texts):
    """Of `atled check`: (file, severity, kind, line, column) of each."""
    for p, text in texts.items():
        p.write_bytes(text.encode())
    run = subprocess.run([exe, "check", "--json", str(path)], capture_output=True, text=True, timeout=60)
    found = set()
    for line in run.stdout.split("\n"):
        if line:
            d = json.loads(line)
            found.add((d["file"] or str(path), d["severity"], d["kind"], max(d["line"], 1), max(d["column"], 1),
                       d["message"].split("\n")[0].replace("/./", "/")))
    for p in texts:
        p.write_text("let nothing = 0\n")
    return found


def place_of(text, position):
    """Line and column of the library, which ends lines with \\n alone, and counts characters; a zero byte as two."""
    before = text[:lsp_client.index_of(text, position)].replace("\0", "00")
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


def shown(client, texts):
    """Of the client: the same, by documents."""
    found = {}
    for uri, diagnostics in client.diagnostics.items():
        path = pathlib.Path(lsp_client.path_of(uri))
        text = texts.get(path, "")
        found[path] = {(str(path), "error" if d["severity"] == 1 else "warning", d["code"], *place_of(text, d["range"]["start"]),
                        d["message"].split("\n")[0]) for d in diagnostics}
    return found


def memory_of(client):
    for line in open(f"/proc/{client.process.pid}/status"):
        if line.startswith("VmRSS:"):
            return int(line.split()[1])


class Campaign:
    def __init__(self, exe, folder, seed):
        self.exe, self.rng = exe, random.Random(seed)
        self.good = good_texts(folder)
        self.texts = {path: pool[0] for path, pool in self.good.items()}
        self.client = lsp_client.Client(exe, folder)
        for path, text in self.texts.items():
            path.write_text("let nothing = 0\n")
            self.client.open(lsp_client.uri_of(path), text)
        self.edits = 0

    def edit(self):
        path = self.rng.choice(list(self.texts))
        changes, text = [], self.texts[path]
        for _ in range(self.rng.choice([1, 1, 1, 2, 4])):
            change, text = random_change(self.rng, text, self.good[path])
            changes.append(change)
        if len(text) > 5000:
            text = self.good[path][0]
            changes.append({"text": text})
        self.texts[path] = text
        self.client.change(lsp_client.uri_of(path), changes)
        self.edits += len(changes)

    def repair(self):
        for path, pool in self.good.items():
            if self.rng.random() < 0.5:
                self.texts[path] = self.rng.choice(pool)
                self.client.change(lsp_client.uri_of(path), [{"text": self.texts[path]}])

    def ask(self):
        path = self.rng.choice(list(self.texts))
        text = self.texts[path]
        place = lsp_client.position(text, self.rng.randrange(len(text) + 1))
        where = {"start": {"line": 0, "character": 0}, "end": place}
        method = self.rng.choice(METHODS + ["rename", "formatting", "documentSymbol", "inlayHint", "codeAction", "semanticTokens/full",
                                            "semanticTokens/range"])
        answer = self.client.call("textDocument/" + method, {
            "textDocument": {"uri": lsp_client.uri_of(path)}, "position": place, "range": where, "newName": self.rng.choice(["x", "y1", "Tree", "let"]),
            "context": {"includeDeclaration": True, "diagnostics": []}})
        if "error" in answer and answer["error"]["code"] not in ALLOWED:
            raise SystemExit(f"{method}: {answer}")
        if method.startswith("semanticTokens"):
            self.check_tokens(path, answer["result"]["data"])
        if method == "formatting" and answer["result"]:
            self.compare_format(path, answer["result"])

    def check_tokens(self, path, data):
        """They follow each other within the lines of the text."""
        lines = [lsp_client.units(text.rstrip("\r\n")) for text in lsp_client.lines_of(self.texts[path])]
        line = end = start_before = 0
        for down, right, length, *_ in zip(*(iter(data),) * 5):
            start = right if down else start_before + right
            line, start_before = line + down, start
            if length <= 0 or line >= len(lines) or start + length > lines[line] or (not down and start < end):
                raise SystemExit(f"{path}: a token at {line}:{start}, {length} long, in {self.texts[path]!r}")
            end = start + length

    def compare_format(self, path, edits):
        text = lsp_client.apply_edits(self.texts[path], edits)
        run = subprocess.run([self.exe, "fmt", "-"], input=self.texts[path].encode(), capture_output=True, timeout=60)
        if run.stdout.decode() != text:
            raise SystemExit(f"{path}: formatted is {text!r}, not {run.stdout.decode()!r}")

    def compare(self):
        c = self.client
        c.settle(0.15)
        if c.process.poll() is not None:
            raise SystemExit(f"the server ended with status {c.process.returncode} after {self.edits} edits")
        found = shown(c, self.texts)
        for path, text in self.texts.items():
            there = c.request("atled/documentText", {"textDocument": {"uri": lsp_client.uri_of(path)}})
            if there.replace("\0", "\\0") != text.replace("\0", "\\0"):
                raise SystemExit(f"{path}: the server has {there!r}, not {text!r}")
            want = {d for d in checked(self.exe, path, self.texts) if d[0] == str(path)}
            if found.get(path, set()) != want:
                raise SystemExit(f"{path} after {self.edits} edits\nserver: {sorted(found.get(path, set()))}\ncheck:  {sorted(want)}\n{text}")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("exe")
    p.add_argument("--edits", type=int, default=10000)
    p.add_argument("--seed", type=int, default=int(time.strftime("%Y%m%d")))
    p.add_argument("--every", type=int, default=25)
    o = p.parse_args()
    os.environ.setdefault("ASAN_OPTIONS", "quarantine_size_mb=4")  # what that keeps would look like growth
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder).resolve()
        c = Campaign(o.exe, folder, o.seed)
        early, next_check = None, o.every
        while c.edits < o.edits:
            c.edit()
            if c.rng.random() < 0.3:
                c.ask()
            if c.edits >= next_check:
                if c.rng.random() < 0.4:
                    c.repair()
                c.compare()
                next_check = c.edits + o.every
                if early is None and c.edits >= o.edits / 4:
                    early = memory_of(c.client)
        late = memory_of(c.client)
        status = c.client.end()
        print(f"{c.edits} edits with seed {o.seed}: {c.client.published} times diagnostics; {early} KB, then {late} KB")
        if status or late > 1.5 * early + 20000:
            raise SystemExit(f"status {status}")


if __name__ == "__main__":
    main()
