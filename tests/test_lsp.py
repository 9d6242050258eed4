#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`atled lsp`, asked by a client that is a script: what it answers, what it shows, and what becomes of messages that
make no sense.

usage: test_lsp.py EXE

tests/fuzz/lsp.py changes documents at random; tests/test_neovim.py is a real client."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import lsp_client  # noqa: E402

EXE = "atled"
ERROR, WARNING = 1, 2
LEXICAL = ("keyword", "string", "number", "comment", "operator")


class Case(unittest.TestCase):
    can = None  # capabilities of the client

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name).resolve()
        self.client = lsp_client.Client(EXE, self.folder, can=self.can)

    def tearDown(self):
        if self.client.process.poll() is None:
            self.client.process.kill()
        self.client.process.wait()
        self.client.process.stdin.close()
        self.client.process.stdout.close()
        self.temporary.cleanup()

    def uri(self, name):
        return lsp_client.uri_of(self.folder / name)

    def open(self, name, text):
        self.client.open(self.uri(name), text)
        return self.uri(name)

    def texts(self, name, text, edits):
        """Of the places of edits, or of ranges, in the text."""
        return [text[lsp_client.index_of(text, e["range"]["start"]):lsp_client.index_of(text, e["range"]["end"])] for e in edits]

    def wait(self, name, true):
        shown = self.client.wait_for(lambda: self.uri(name) in self.client.diagnostics and true(self.client.diagnostics[self.uri(name)]), 20)
        self.assertTrue(shown, self.client.diagnostics)
        return self.client.diagnostics[self.uri(name)]

    def server_text(self, uri):
        return self.client.request("atled/documentText", {"textDocument": {"uri": uri}})

    def tokens(self, name, text, lines=None):
        """Text, type and modifiers of each token in one string, with its start; of some lines, or of all."""
        legend = self.client.capabilities["capabilities"]["semanticTokensProvider"]["legend"]
        params, method = {"textDocument": {"uri": self.uri(name)}}, "full"
        if lines:
            method = "range"
            params["range"] = {"start": {"line": lines[0], "character": 0}, "end": {"line": lines[1], "character": 0}}
        data = self.client.request("textDocument/semanticTokens/" + method, params)["data"]
        found, line, character = [], 0, 0
        for i in range(0, len(data), 5):
            down, right, length, kind, flags = data[i:i + 5]
            line, character = line + down, (0 if down else character) + right
            here = lsp_client.lines_of(text)[line].encode("utf-16-le")[2 * character:2 * (character + length)].decode("utf-16-le")
            flags = [m for bit, m in enumerate(legend["tokenModifiers"]) if flags >> bit & 1]
            found.append(Token(" ".join([here, legend["tokenTypes"][kind], *flags])))
            found[-1].start, found[-1].text, found[-1].kind = {"line": line, "character": character}, here, legend["tokenTypes"][kind]
        return found

    def names(self, name, text, lines=None):
        return [t for t in self.tokens(name, text, lines) if t.kind not in LEXICAL]

    def ask(self, method, name, text, where, offset=0, **more):
        return self.client.request("textDocument/" + method, self.client.at(self.uri(name), text, where, offset, **more))


# ---- Messages ----------------------------------------------------------------------------------------------------
class Messages(Case):
    def test_begins_and_ends(self):
        c = self.client.capabilities
        self.assertEqual(c["serverInfo"]["name"], "atled")
        self.assertEqual((c["capabilities"]["positionEncoding"], c["capabilities"]["textDocumentSync"]["change"]), ("utf-16", 2))
        self.assertEqual(self.client.call("initialize", {})["error"]["code"], -32600)
        self.assertEqual(self.client.end(), 0)

    def test_not_initialised(self):
        c = lsp_client.Client(EXE, begin=False)
        c.notify("textDocument/didOpen", {})
        self.assertEqual(c.call("textDocument/hover", {})["error"]["code"], -32002)
        c.notify("exit", None)
        self.assertEqual(c.process.wait(timeout=20), 1)
        c.process.stdin.close()
        c.process.stdout.close()

    def test_after_shutdown(self):
        self.client.call("shutdown", None)
        self.assertEqual(self.client.call("textDocument/hover", {})["error"]["code"], -32600)
        self.client.notify("exit", None)
        self.assertEqual(self.client.process.wait(timeout=20), 0)

    def test_client_dies(self):
        self.open("a.atl", "let x = 1\n" * 1000)
        self.client.process.stdin.close()
        self.assertEqual(self.client.process.wait(timeout=20), 1)

    def test_client_dies_within_a_message(self):
        self.client.send_bytes(b"Content-Length: 1000\r\n\r\n{")
        self.client.process.stdin.close()
        self.assertEqual(self.client.process.wait(timeout=20), 1)

    def refused(self, data, code):
        self.client.send_bytes(data)
        self.assertEqual(self.client.answer(None)["error"]["code"], code, data)

    def framed(self, data):
        return b"Content-Length: %d\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n%s" % (len(data), data)

    def test_bad_messages(self):
        for text in (b"{", b"", b"{\"jsonrpc\":\"2.0\",\"id\":1,", b"\xff\xfe", b"[" * 5000, b"{\"a\":1e999}", b"\0\0"):
            self.refused(self.framed(text), -32700)
        for text in (b"1", b"null", b"\"a\"", b"[]", b"{}", b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"shutdown\"}]",
                     b"{\"id\":{},\"method\":\"shutdown\"}", b"{\"id\":1.5,\"method\":\"shutdown\"}", b"{\"method\":3}"):
            self.refused(self.framed(text), -32600)
        self.still_answers()

    def test_bad_headers(self):
        self.client.send_bytes(b"\r\n\r\nnonsense\r\nContent-Length: x\r\nContent-Length: -5\r\n\r\n" + b"\xff" * 10000 + b"\r\n")
        self.still_answers()
        self.refused(b"Content-Length: 99999999999999999999999\nContent-Length: 3\n\n{a}", -32700)  # the last counts
        self.still_answers()

    def test_too_long(self):
        self.client.send_bytes(b"Content-Length: %d\r\n\r\n" % (300 << 20))
        block = b" " * (1 << 20)
        for _ in range(300):
            self.client.process.stdin.write(block)
        self.client.process.stdin.flush()
        self.assertEqual(self.client.answer(None)["error"]["code"], -32600)
        self.still_answers()

    def still_answers(self):
        self.assertIsNone(self.client.request("textDocument/hover", {"textDocument": {"uri": "file:///none"}, "position": {"line": 0, "character": 0}}))

    def cancelled(self, text, before):
        """Sends requests for the colours of a long text, a cancellation right behind the last one; its answer."""
        first = self.client.number + 1
        self.client.number += before + 1
        framed = b""
        for i in range(before + 1):
            body = {"jsonrpc": "2.0", "id": first + i, "method": "textDocument/semanticTokens/full", "params": {"textDocument": {"uri": text}}}
            framed += self.framed(json.dumps(body).encode())
        body = {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": first + before}}
        self.client.send_bytes(framed + self.framed(json.dumps(body).encode()))
        answers = [self.client.answer(first + i) for i in range(before + 1)]
        self.assertTrue(all(a["result"]["data"] for a in answers[:-1]))
        return answers[-1]

    def test_cancelled(self):
        """One that waits, and one that is being answered. The reader may come too late, when the machine is busy."""
        uri = self.open("a.atl", "".join(f"let f{i} x = x + {i}.0 * x\n" for i in range(20000)))
        for before in (1, 0):
            codes = [self.cancelled(uri, before).get("error", {}).get("code")]
            while codes[-1] is None and len(codes) < 10:
                codes.append(self.cancelled(uri, before).get("error", {}).get("code"))
            self.assertEqual(codes[-1], -32800, codes)
        self.assertTrue(self.client.request("textDocument/semanticTokens/full", {"textDocument": {"uri": uri}})["data"])

    def test_cancelled_in_vain(self):
        """What has been answered, what never came, what is no id."""
        self.still_answers()
        for params in ({"id": self.client.number}, {"id": self.client.number + 1000}, {"id": "x"}, {"id": None}, {"id": {}}, {}, None, 3, []):
            self.client.notify("$/cancelRequest", params)
        self.still_answers()
        self.assertEqual(self.client.answers, {})

    def test_wrong_params(self):
        c = self.client
        self.open("a.atl", "let x = 1\n")
        self.assertEqual(c.call("textDocument/nonsense", {})["error"]["code"], -32601)
        methods = ["hover", "definition", "references", "documentHighlight", "documentSymbol", "inlayHint", "prepareRename", "rename",
                   "completion", "signatureHelp", "formatting", "codeAction", "semanticTokens/full", "semanticTokens/range"]
        a = {"uri": self.uri("a.atl")}
        wrong = [None, [], {}, "x", {"textDocument": 3}, {"textDocument": {"uri": 7}}, {"textDocument": a}, {"textDocument": a, "position": []},
                 {"textDocument": a, "position": {"line": -1, "character": -1}, "range": 3, "newName": 5},
                 {"textDocument": a, "position": {"line": 1e9, "character": 2 ** 62}, "range": {"start": {}, "end": {"line": "a"}}, "newName": ""}]
        for method in methods:
            for params in wrong:
                answer = c.call("textDocument/" + method, params)
                self.assertTrue("result" in answer or answer["error"]["code"] in (-32602, -32803), answer)
        for params in wrong:
            for method in ("didOpen", "didChange", "didClose"):
                c.notify("textDocument/" + method, params)
            c.notify("workspace/didChangeWatchedFiles", params)
            c.call("completionItem/resolve", params)
        c.notify("$/unknown", {})
        c.send({"id": 99, "result": None})
        self.still_answers()
        self.assertEqual(self.server_text(self.uri("a.atl")), None)  # the second one in the list of wrong didClose closed it


# ---- Texts -------------------------------------------------------------------------------------------------------
class Texts(Case):
    def test_edits(self):
        uri = self.open("a.atl", "let a = \"𝛼é\"\r\nlet b = 2\rlet c = 3\n")
        self.client.change(uri, [
            {"range": {"start": {"line": 0, "character": 9}, "end": {"line": 0, "character": 11}}, "text": "x"},  # 𝛼 is two units
            {"range": {"start": {"line": 1, "character": 4}, "end": {"line": 1, "character": 5}}, "text": "😀\n"},
            {"range": {"start": {"line": 3, "character": 9}, "end": {"line": 3, "character": 99}}, "text": "!"},  # the line ends before
            {"range": {"start": {"line": 77, "character": 0}, "end": {"line": 78, "character": 0}}, "text": "end"}])
        self.assertEqual(self.server_text(uri), "let a = \"xé\"\r\nlet 😀\n = 2\rlet c = 3!\nend")
        self.client.change(uri, [{"range": {"start": {"line": 1, "character": 5}, "end": {"line": 1, "character": 6}}, "text": ""}])
        self.assertEqual(self.server_text(uri), "let a = \"xé\"\r\nlet \n = 2\rlet c = 3!\nend")  # no half of a pair is left
        self.client.change(uri, [{"text": "let z = 1"}])
        self.assertEqual(self.server_text(uri), "let z = 1")

    def test_bytes_that_are_no_text(self):
        uri = self.open("a.atl", "let a = 1\n")
        part = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": "?"}]}
        message = json.dumps({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": part})
        self.client.send_text(message.replace('"?"', r'"let s = \"\ud835 \u0000 \udc4e \ud835\udc4e\"\n"'))  # halves of pairs
        self.assertEqual(self.server_text(uri), "let s = \"\ufffd \0 \ufffd 𝑎\"\n")
        self.client.send_text(message.encode().replace(b'"?"', b'"let s = \\"\xff\xc0\x80\\""'))
        self.assertEqual(self.server_text(uri), "let s = \"???\"")

    def test_names_of_files(self):
        odd = "a b%20ü#?.atl"
        (self.folder / "sub").mkdir()
        uri = self.open(odd, "import \"sub/../m.atl\" as M\nlet y = M.x + true\n")
        self.open("m.atl", "let x = 1\n")
        self.wait(odd, lambda d: len(d) == 1 and d[0]["code"] == "type-mismatch")
        place = self.ask("definition", odd, "import \"sub/../m.atl\" as M\nlet y = M.x + true\n", "M.x", 2)
        self.assertEqual(place["uri"], self.uri("m.atl"))
        self.client.open("untitled:Untitled-1", "let x = 1 + true\n")
        self.assertTrue(self.client.wait_for(lambda: self.client.diagnostics.get("untitled:Untitled-1"), 20))
        self.assertEqual(self.server_text(uri)[:6], "import")


# ---- Diagnostics -------------------------------------------------------------------------------------------------
class Diagnostics(Case):
    def test_types_and_sure_failures(self):
        text = "let s = \"😀\" + 1\n"
        uri = self.open("a.atl", text)
        d = self.wait("a.atl", len)[0]
        self.assertEqual((d["severity"], d["code"], d["source"]), (ERROR, "type-mismatch", "atled"))
        self.assertEqual(self.texts("a.atl", text, [d]), ["1"])
        self.client.change(uri, [{"text": "let a = [1, 2]\nlet b = a[2]\n"}])
        d = self.wait("a.atl", lambda d: d and d[0]["code"] == "index")[0]
        self.assertEqual(self.texts("a.atl", "let a = [1, 2]\nlet b = a[2]\n", [d]), ["2"])
        self.client.change(uri, [{"text": "let b = 2\n"}])
        self.wait("a.atl", lambda d: not d)

    def test_what_elaboration_found_stays(self):
        """Until it is done again: nothing else is shown in between."""
        uri = self.open("a.atl", "let a = [1, 2][2]\n")
        self.wait("a.atl", len)
        for k in range(5):
            self.client.change(uri, [{"range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}, "text": f"# {k}\n"}])
            self.client.diagnostics.pop(uri)
            self.assertEqual(self.wait("a.atl", lambda d: True)[0]["range"]["start"]["line"], k + 1)
        self.client.change(uri, [{"text": "let a = 1 + true\n"}])
        self.wait("a.atl", lambda d: d and d[0]["code"] == "type-mismatch")
        self.client.change(uri, [{"text": "let a = 1\n"}])
        self.wait("a.atl", lambda d: not d)

    def test_notes_and_hints(self):
        text = "type t = A of int\nlet f x = match x with A -> 1\n"
        self.open("a.atl", text)
        d = self.wait("a.atl", len)[0]
        self.assertIn("hint: `A _` matches any", d["message"])
        note = d["relatedInformation"][0]
        self.assertEqual((note["message"], self.texts("a.atl", text, [note["location"]])), ("declared here", ["A"]))

    def test_imports_are_open_documents(self):
        (self.folder / "m.atl").write_text("let x = true\n")
        self.open("a.atl", "import \"m.atl\" as M\nlet y = M.x + 1\n")
        self.wait("a.atl", len)
        m = self.open("m.atl", "let x = 2\n")
        self.wait("a.atl", lambda d: not d)
        self.client.change(m, [{"text": "let x = \"s\"\n"}])
        self.wait("a.atl", len)
        self.client.notify("textDocument/didClose", {"textDocument": {"uri": m}})  # the file counts again
        self.assertIn("bool", self.wait("a.atl", lambda d: d and "bool" in d[0]["message"] + d[0].get("data", ""))[0]["message"])
        (self.folder / "m.atl").write_text("let x = 3\n")
        self.client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": m, "type": 2}]})
        self.wait("a.atl", lambda d: not d)

    def test_cycles_of_open_files(self):
        """Each check finds the cycle in the other file."""
        self.open("a.atl", "import \"b.atl\" as B\nlet x = B.y\n")
        self.open("b.atl", "import \"a.atl\" as A\nlet y = A.x\n")
        self.wait("a.atl", lambda d: [f for f in d if "cycle" in f["message"]])
        self.wait("b.atl", lambda d: [f for f in d if "cycle" in f["message"]])
        self.client.change(self.uri("b.atl"), [{"text": "let y = 1\n"}])
        self.wait("a.atl", lambda d: not d)
        self.wait("b.atl", lambda d: not d)

    def test_saving_looks_at_files_again(self):
        (self.folder / "m.atl").write_text("let x = true\n")
        uri = self.open("a.atl", "import \"m.atl\" as M\nlet y = M.x + 1\n")
        self.wait("a.atl", len)
        (self.folder / "m.atl").write_text("let x = 1\n")
        self.client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
        self.wait("a.atl", lambda d: not d)

    def test_findings_in_files_that_are_imported(self):
        (self.folder / "m.atl").write_text("let x = 1 + true\n")
        self.open("a.atl", "import \"m.atl\" as M\nlet y = M.x + 1\n")
        self.assertEqual(self.wait("m.atl", len)[0]["code"], "type-mismatch")
        self.wait("a.atl", lambda d: not d)
        self.client.notify("textDocument/didClose", {"textDocument": {"uri": self.uri("a.atl")}})
        self.wait("m.atl", lambda d: not d)

    def test_import_of_what_is_no_file(self):
        os.mkfifo(self.folder / "pipe.atl")
        self.open("a.atl", "import \"pipe.atl\" as P\nimport \"nothing.atl\" as N\nimport \"a.atl\" as A\n")
        self.assertEqual([d["code"] for d in self.wait("a.atl", lambda d: len(d) == 3)], ["import-file", "import-file", "import-cycle"])

    def test_elaboration_is_interrupted(self):
        """Elaborating takes seconds here; requests don't wait for it, and what it finds comes in the end."""
        chain = "".join(f"let f{i} x = if x > {i}.0 then sin x * 3.0 else {'f%d (x - 1.0)' % (i - 1) if i else 'x'}\nlet a{i} = grad f{i} 2.0\n"
                        for i in range(1500))
        self.open("a.atl", chain + "let last = [1.0][1]\n")
        self.wait("a.atl", lambda d: True)
        for _ in range(5):
            self.assertIn("f7 :", self.ask("hover", "a.atl", chain, "f7 ")["contents"]["value"])
        self.assertEqual(self.client.diagnostics[self.uri("a.atl")], [])  # it would have been found before the answers
        self.assertEqual(self.wait("a.atl", len)[0]["code"], "index")


# ---- Looking -----------------------------------------------------------------------------------------------------
MODEL = """# Doubles.
# Of any structure.
let twice x = x + x
type shape = Circle of float | Square
let size = 2.0
"""
MAIN = """import "model.atl" as Model
let area s = match s with Model.Circle r -> Model.twice r | Model.Square -> Model.size
let rec walk {step, to_} n = if n = 0 then step else walk {step, to_} (n - 1)
let (left, right) = (walk {step = 1.5, to_ = 2.0} 3, "∂😀") in print (left + Model.twice left)
for i = 0 to 3 do print (i + i) done
"""


class Token(str):
    """Text, type and modifiers."""


class Looking(Case):
    def setUp(self):
        super().setUp()
        (self.folder / "model.atl").write_text(MODEL)
        self.open("main.atl", MAIN)

    def hover(self, where, offset=0):
        h = self.ask("hover", "main.atl", MAIN, where, offset)
        return h and h["contents"]["value"]

    def test_hover(self):
        self.assertEqual(self.hover("twice r"), "```atled\ntwice : num 'a => 'a -> 'a\n```\n\nhere: `float -> float`\n\nDoubles.\nOf any structure.")
        self.assertEqual(self.hover("twice r", 5), self.hover("twice r"))  # behind the word
        self.assertEqual(self.hover("Circle r"), "```atled\nCircle : float -> Model.shape\n```")
        self.assertEqual(self.hover("r ->"), "```atled\nr : float\n```")
        self.assertEqual(self.hover("right)"), "```atled\nright : string\n```")
        self.assertEqual(self.hover("\"∂"), "```atled\nstring\n```")
        self.assertEqual(self.hover("i + i"), "```atled\ni : int\n```")
        self.assertIn("print :", self.hover("print (l"))
        self.assertIn("module `Model`", self.hover("Model.twice"))
        self.assertIsNone(self.hover("import"))

    def test_hover_in_broken_programs(self):
        text = "let f x = x + 1.0\nlet g = f true\nlet h = (f 2\nlet i = f 3\n"
        self.open("b.atl", text)
        self.assertIn("f : float -> float", self.ask("hover", "b.atl", text, "f 3")["contents"]["value"])
        self.assertIn("f : float -> float", self.ask("hover", "b.atl", text, "f true")["contents"]["value"])
        self.assertIsNone(self.ask("hover", "b.atl", text, "f 2"))

    def test_definition(self):
        d = self.ask("definition", "main.atl", MAIN, "twice r")
        self.assertEqual((d["uri"], self.texts("", MODEL, [d])), (self.uri("model.atl"), ["twice"]))
        self.assertEqual(d["range"]["start"], {"line": 2, "character": 4})
        d = self.ask("definition", "main.atl", MAIN, "left + ")
        self.assertEqual(d["range"]["start"], {"line": 3, "character": 5})
        self.assertEqual(self.ask("definition", "main.atl", MAIN, "Model.twice")["uri"], self.uri("model.atl"))
        self.assertIsNone(self.ask("definition", "main.atl", MAIN, "1.5"))

    def test_definition_in_the_library(self):
        d = self.ask("definition", "main.atl", MAIN, "print (l")
        path = pathlib.Path(lsp_client.path_of(d["uri"]))
        self.assertEqual((path.name, self.texts("", path.read_text(), [d])), ("prelude.atl", ["print"]))
        text = "let m = Stats.median [1.0]\n"
        self.open("b.atl", text)
        d = self.ask("definition", "b.atl", text, "median")
        path = pathlib.Path(lsp_client.path_of(d["uri"]))
        self.assertEqual((path.name, self.texts("", path.read_text(), [d])), ("Stats.atl", ["median"]))
        self.assertFalse(os.access(path, os.W_OK) and os.geteuid() != 0)
        self.client.open(d["uri"], path.read_text())
        self.client.settle()
        self.assertFalse(self.client.diagnostics.get(d["uri"]))  # it binds primitives, which programs can't
        self.assertIn("error", self.client.call("textDocument/prepareRename", self.client.at(d["uri"], path.read_text(), "let median", 4)))

    def test_names_without_a_place(self):
        text = "let f (x : float) = Str.length (Str.trim \"\") + length [x]\ntype u = Unit of int | Other\n"
        self.open("b.atl", text)
        found = self.ask("references", "b.atl", text, "Str.length", context={"includeDeclaration": True})
        self.assertEqual(self.texts("", text, found), ["Str", "Str"])
        self.assertEqual(self.ask("hover", "b.atl", text, "float")["contents"]["value"], "```atled\ntype float\n```")
        self.assertEqual(self.ask("hover", "b.atl", text, "Unit")["contents"]["value"], "```atled\nUnit : int -> u\n```")

    def test_each_name(self):
        """Of some programs: it has a type, it is among its own references and edits, and completion offers it within it."""
        for name in ("word_statistics.atl", "tree_gradient.atl", "black_scholes.atl"):
            text = (HERE.parent / "examples" / name).read_text()
            self.open(name, text)
            for token in self.names(name, text)[::9]:
                place = {"textDocument": {"uri": self.uri(name)}, "position": token.start}
                word, kind, *flags = token.split()
                self.assertTrue(self.client.request("textDocument/hover", place), (name, token.start, token))
                found = self.client.request("textDocument/references", {**place, "context": {"includeDeclaration": True}})
                if kind != "property" and not (kind == "type" and word in ("float", "int")):
                    self.assertIn((self.uri(name), token.start), [(r["uri"], r["range"]["start"]) for r in found], token)
                if "defaultLibrary" not in flags and kind in ("function", "parameter", "variable", "enumMember"):
                    edits = self.client.request("textDocument/rename", {**place, "newName": "Zq9" if word[0].isupper() else "zq9"})["changes"]
                    self.assertEqual([e["range"] for e in edits[self.uri(name)]], sorted((r["range"] for r in found), key=lambda r: (r["start"]["line"], r["start"]["character"])), token)
                end = {**place["position"], "character": place["position"]["character"] + (len(word) + 1) // 2}
                if "declaration" not in flags:
                    offered = self.client.request("textDocument/completion", {**place, "position": end})["items"]
                    self.assertIn(word, [i["label"] for i in offered], (name, token.start))

    def test_definition_of_a_path(self):
        d = self.ask("definition", "main.atl", MAIN, "model.atl")
        self.assertEqual((d["uri"], d["range"]["start"]), (self.uri("model.atl"), {"line": 0, "character": 0}))
        self.assertEqual(self.ask("hover", "main.atl", MAIN, "model.atl")["contents"]["value"].split("\n")[0], "module `Model`")
        self.assertIn("error", self.client.call("textDocument/prepareRename", self.client.at(self.uri("main.atl"), MAIN, "model.atl")))

    def test_uris_as_the_client_writes_them(self):
        """Answers name an open file as its client does, however it escapes characters."""
        uri = self.uri("b+c.atl").replace("%2B", "+")
        self.client.open(uri, "let k = 1\nlet l = k\n")
        place = {"textDocument": {"uri": uri}, "position": {"line": 1, "character": 8}}
        self.assertEqual(self.client.request("textDocument/definition", place)["uri"], uri)
        found = self.client.request("textDocument/references", {**place, "context": {"includeDeclaration": True}})
        self.assertEqual([r["uri"] for r in found], [uri, uri])
        self.assertEqual([s["location"]["uri"] for s in self.client.request("workspace/symbol", {"query": "k"}) if s["name"] == "k"], [uri])

    def test_definition_in_the_library_without_a_cache(self):
        (self.folder / "file").write_text("")
        c = lsp_client.Client(EXE, self.folder / "file")
        text = "let m = Stats.median [1.0]\n"
        c.open(self.uri("b.atl"), text)
        answer = c.call("textDocument/definition", c.at(self.uri("b.atl"), text, "median"))
        self.assertEqual(answer["error"]["code"], -32803)
        self.assertEqual(c.end(), 0)
        c.process.stdout.close()

    def test_references(self):
        everywhere = {"context": {"includeDeclaration": True}}
        found = self.ask("references", "main.atl", MAIN, "twice r", **everywhere)
        self.assertEqual(sorted(lsp_client.path_of(r["uri"]).rsplit("/")[-1] for r in found), ["main.atl", "main.atl", "model.atl"])
        self.assertEqual(len(self.ask("references", "main.atl", MAIN, "twice r", context={})), 2)
        found = self.ask("references", "main.atl", MAIN, "step, to_} n", **everywhere)
        self.assertEqual(self.texts("", MAIN, found), ["step"] * 3)
        self.assertEqual(len(self.ask("references", "main.atl", MAIN, "Model.twice", **everywhere)), 6)
        marks = self.ask("documentHighlight", "main.atl", MAIN, "i + i")
        self.assertEqual([m["kind"] for m in marks], [3, 2, 2])

    def test_outline(self):
        text = MODEL + "test \"all\" = true\nlet broken = (\nlet f x = x\n"
        self.open("b.atl", text)
        symbols = self.client.request("textDocument/documentSymbol", {"textDocument": {"uri": self.uri("b.atl")}})
        self.assertEqual([(s["name"], s["kind"]) for s in symbols], [("twice", 12), ("shape", 10), ("size", 13), ("all", 24), ("f", 12)])
        self.assertEqual([s["name"] for s in symbols[1]["children"]], ["Circle", "Square"])
        self.assertEqual(symbols[0]["detail"], "num 'a => 'a -> 'a")
        for s in symbols:
            inner, outer = s["selectionRange"], s["range"]
            self.assertLessEqual(lsp_client.index_of(text, outer["start"]), lsp_client.index_of(text, inner["start"]))
            self.assertLessEqual(lsp_client.index_of(text, inner["end"]), lsp_client.index_of(text, outer["end"]))

    def test_symbols_of_all_files(self):
        found = self.client.request("workspace/symbol", {"query": "IR"})
        self.assertEqual([(s["name"], s["kind"], s["location"]["uri"]) for s in found], [("Circle", 22, self.uri("model.atl"))])
        self.assertEqual(self.texts("", MODEL, [found[0]["location"]]), ["Circle"])
        self.assertEqual(len(self.client.request("workspace/symbol", {"query": ""})), 8)  # 5 of the model

    def inlays(self, text, first, last):
        return [(h["position"]["line"], h["position"]["character"], h["label"]) for h in self.client.request("textDocument/inlayHint", {
            "textDocument": {"uri": self.open("b.atl", text)}, "range": {"start": {"line": first, "character": 0}, "end": {"line": last, "character": 0}}})]

    def test_inlays(self):
        text = "let a = [1.0]\nlet b : int = 1\nlet f x =\n  let (c, 𝛼) = (1.0, true) in\n  if 𝛼 then c else x\nlet g = f\n"
        self.assertEqual(self.inlays(text, 0, 6), [(0, 5, ": float[]"), (3, 8, ": float"), (3, 12, ": bool"), (5, 5, ": float -> float")])
        self.assertEqual(self.inlays(text, 3, 4), [(3, 8, ": float"), (3, 12, ": bool")])


# ---- Colours -----------------------------------------------------------------------------------------------------
class Colours(Case):
    can = {"textDocument": {"semanticTokens": {"augmentsSyntaxTokens": True}}}

    def test_colours_by_meaning(self):
        """Names of each sort; both halves of a UTF-16 pair count; what keywords elsewhere are is a name here."""
        text = ("import \"model.atl\" as Model\n"
                "type t = K of float | L\n"
                "let f {x, ..} (𝛼 : t) g = let mut s = 0.0 in s <- g x; (K s, Model.size, sin s, $\"{𝛼}\")\n"
                "let test = fun n -> n.w\nlet y = match K 1.0 with | K r as k -> Some r | _ -> None\n")
        self.open("colours.atl", text)
        expected = [["Model namespace declaration"],
                    ["t type declaration", "K enumMember declaration", "float type", "L enumMember declaration"],
                    ["f function declaration", "x parameter declaration", "𝛼 parameter declaration", "t type", "g parameter declaration",
                     "s variable declaration mutable", "s variable mutable", "g parameter", "x parameter", "K enumMember", "s variable mutable",
                     "Model namespace", "size variable", "sin function defaultLibrary", "s variable mutable", "𝛼 parameter"],
                    ["test function declaration", "n parameter declaration", "n parameter", "w property"],
                    ["y variable declaration", "K enumMember", "K enumMember", "r variable declaration", "k variable declaration",
                     "Some enumMember defaultLibrary", "r variable", "None enumMember defaultLibrary"]]
        self.assertEqual(self.tokens("colours.atl", text), sum(expected, []))
        self.assertEqual(self.tokens("colours.atl", text, (1, 2)), expected[1])
        self.assertEqual(self.tokens("colours.atl", text, (3, 9)), expected[3] + expected[4])
        self.assertEqual(self.tokens("none.atl", ""), [])

    def test_legend_is_documented(self):
        legend = self.client.capabilities["capabilities"]["semanticTokensProvider"]["legend"]
        text = (HERE.parent / "docs/editors.md").read_text()
        heads = ("| token type | names |", "| token type | for clients", "| modifier |")
        parts = [re.findall(r"^\| `(\w+)` \|", text.split(head)[1].split("\n\n")[0], re.M) for head in heads]
        parts = [set(parts[0] + parts[1]), parts[2]]
        self.assertEqual([sorted(p) for p in parts], [sorted(legend["tokenTypes"]), sorted(legend["tokenModifiers"])])

    def test_colours_of_abbreviations(self):
        """Nodes that the parser makes have no tokens of their own, and no name has two."""
        text = "let rec f a = f (a |> f)\nlet g p = let mut s = 1 in s += p; s\nlet h = for i = 0 to 3 do print i done\nlet k xs = [ e + i | e in xs, i < 3 ]\n"
        self.open("sugar.atl", text)
        self.assertEqual([t.split()[0] for t in self.tokens("sugar.atl", text)],
                         ["f", "a", "f", "a", "f", "g", "p", "s", "s", "p", "s", "h", "i", "print", "i", "k", "xs", "e", "i", "e", "xs", "i"])

    def test_names_alone(self):
        """A client that shows tokens over its grammar's colours has no others."""
        self.open("plain.atl", "# a comment\n1 + 2\n")
        self.assertEqual(self.tokens("plain.atl", "# a comment\n1 + 2\n"), [])


class ColoursOfAll(Colours):
    can, maxDiff = None, None

    def tokens(self, name, text, lines=None):
        """The names; and all tokens are in order, none within another one, each on one line."""
        found = super().tokens(name, text, lines)
        places = [(t.start["line"], t.start["character"], t.start["character"] + lsp_client.units(t.split(" ")[0])) for t in found if " " not in t.text]
        for (line, _, end), (after, start, _) in zip(places, places[1:]):
            self.assertTrue(after > line or start >= end, found)
        return [t for t in found if t.kind not in LEXICAL]

    test_names_alone = None

    def test_all(self):
        """Of a text with tokens of each sort: they say all but brackets and blanks."""
        text = ("(* 𝛼 note\r\n  (* inner *)\n\n end *)\nlet f (x : float) : 'a = x ^ 2 - 0x1f # 𝛼\n"
                "let s = $\"𝛼{f 1.5:.2f}\\n\" ++ r\"a\"\ntest \"t\" = not (s <> \"b\") && true\n")
        self.open("all.atl", text)
        rows = [["(* 𝛼 note|comment"], ["  (* inner *)|comment"], [], [" end *)|comment"],
                ["let|keyword", "f|function", "x|parameter", ":|operator", "float|type", ":|operator", "'a|type", "=|operator", "x|parameter",
                 "^|operator", "2|number", "-|operator", "0x1f|number", "# 𝛼|comment"],
                ["let|keyword", "s|variable", "=|operator", "$\"𝛼{|string", "f|function", "1.5|number", ":.2f}\\n\"|string", "++|operator",
                 "r\"a\"|string"],
                ["test|keyword", "\"t\"|string", "=|operator", "not|function", "s|variable", "<>|operator", "\"b\"|string", "&&|operator",
                 "true|keyword"]]
        for lines, wanted in ((None, rows), ((1, 2), rows[1:2]), ((4, 6), rows[4:6])):
            self.assertEqual([f"{t.text}|{t.kind}" for t in super(ColoursOfAll, self).tokens("all.atl", text, lines)], sum(wanted, []))

# ---- Renaming ----------------------------------------------------------------------------------------------------
class Renaming(Case):
    def rename(self, name, text, where, new):
        return self.client.call("textDocument/rename", self.client.at(self.uri(name), text, where, newName=new))

    def renamed(self, name, text, where, new, texts):
        """The texts after it, by names of files."""
        changes = self.rename(name, text, where, new)["result"]["changes"]
        return {n: lsp_client.apply_edits(t, changes.get(self.uri(n), [])) for n, t in texts.items()}

    def test_in_all_files(self):
        texts = {"model.atl": MODEL, "main.atl": MAIN, "other.atl": "import \"model.atl\" as M\nopen M\nprint (twice size)\n"}
        for name, text in texts.items():
            (self.folder / name).write_text(text)
        self.open("main.atl", MAIN)
        self.assertEqual(self.renamed("main.atl", MAIN, "twice r", "doubled", texts),
                         {n: t.replace("twice", "doubled") for n, t in texts.items()})
        self.assertEqual(self.renamed("main.atl", MAIN, "Circle r", "Disk", texts), {n: t.replace("Circle", "Disk") for n, t in texts.items()})

    def test_each_sort_of_name(self):
        """Every name here stands for one thing, so renaming is replacing the word."""
        text = """type 'a tree = Leaf | Fork of 'a tree * 'a * 'a tree
type pair = {fst_ : float, snd_ : pair2} and pair2 = {third : float}
let rec insert node key = match node with
  | Leaf -> Fork (Leaf, key, Leaf)
  | Fork (Leaf, old, rest) | Fork (rest, old, Leaf) when old < key -> insert rest old
  | Fork (left, _, _) as whole -> (match left with Leaf -> whole | other -> other)
let square (v : float) = v * v
pullback square w = (w * w, fun up -> 2.0 * w * up)
let rec even n = n = 0 || odd (n - 1) and odd m = even (m - 1)
let sums limit =
  let mut total = 0.0 in
  for i = 1 to limit do total += float i done;
  for (one, two) in zip [1.0] [2.0] do total <- total + one * two done;
  while total > 9.0 do if total > 99.0 then break; total -= 1.0 done;
  let {fst_ = inner, ..} = {fst_ = total, snd_ = {third = 1.0}} in
  [ square elem + inner | elem in [total], k < 3 ]
let grid = insert Leaf 1
let message = $"{grid} of {sums 3:>3}: {(fun hole -> hole) square 2.0}"
let convert (p : pair) : pair = p
test "all" = even 4 && length (sums 2) = 3
test "sides" = length (sums 2) = (if even 2 then 3 else 4)
bench "b" = sums 7
print message; ignore convert
"""
        names = ["tree", "Leaf", "Fork", "pair", "pair2", "insert", "node", "key", "old", "rest", "left", "whole", "other", "square", "v", "w",
                 "up", "even", "odd", "n", "m", "sums", "limit", "total", "i", "one", "two", "inner", "elem", "k", "grid", "message", "hole",
                 "convert"]
        self.open("a.atl", text)
        self.client.settle()
        self.assertFalse([d for d in self.client.diagnostics[self.uri("a.atl")] if d["severity"] == ERROR])
        for name in names:
            new = "Renamed" if name[0].isupper() else "renamed"
            words = [m.start() for m in re.finditer(rf"(?<![\w']){name}(?![\w'])", text)]
            for at in {words[0], words[-1]}:
                answer = self.client.call("textDocument/rename", {"textDocument": {"uri": self.uri("a.atl")}, "newName": new,
                                                                  "position": lsp_client.position(text, at)})
                self.assertIn("result", answer, name)
                self.assertEqual(lsp_client.apply_edits(text, answer["result"]["changes"][self.uri("a.atl")]),
                                 re.sub(rf"(?<![\w']){name}(?![\w'])", new, text), name)

    def test_fields_that_are_named_by_it(self):
        text = "let f {a, b} = {a, c = b}\nlet a = 1\nlet r = {a, b = a}\n"
        self.open("a.atl", text)
        self.assertEqual(self.renamed("a.atl", text, "a, b} =", "x", {"a.atl": text})["a.atl"],
                         "let f {a = x, b} = {a = x, c = b}\nlet a = 1\nlet r = {a, b = a}\n")
        self.assertEqual(self.renamed("a.atl", text, "a = 1", "x", {"a.atl": text})["a.atl"],
                         "let f {a, b} = {a, c = b}\nlet x = 1\nlet r = {a = x, b = x}\n")

    def test_refused(self):
        text = "let a = 1\nlet b = a + 1\nlet f c = a + c\nlet (d, e) = (a, b)\ntype t = K of int\nprint {w = a}.w\n"
        self.open("a.atl", text)
        for where, new in (("a = 1", "c"),  # would be captured by the parameter
                           ("a = 1", "b"),  # `a` behind b would be b
                           ("c = a", "a"),  # would capture
                           ("d, e", "e"),  # bound twice
                           ("a = 1", "let"), ("a = 1", "A"), ("a = 1", ""), ("a = 1", "x y"), ("a = 1", "1x"), ("a = 1", "_"),
                           ("K of", "k"), ("print", "show"), ("w\n", "v"), ("1\n", "x")):
            answer = self.rename("a.atl", text, where, new)
            self.assertIn("error", answer, (where, new))
            self.assertNotIn("changes", answer)
        for where in ("print", "w\n", "1\n"):
            self.assertIn("error", self.client.call("textDocument/prepareRename", self.client.at(self.uri("a.atl"), text, where)))
        good = self.client.request("textDocument/prepareRename", self.client.at(self.uri("a.atl"), text, "a + c"))
        self.assertEqual((good["placeholder"], self.texts("", text, [good])), ("a", ["a"]))

    def test_names_of_c_functions(self):
        """C knows the function by its name, so it stays."""
        text = "foreign \"m\" cbrt : float -> float\nlet x = cbrt 8.0\n"
        self.open("a.atl", text)
        for where in ("cbrt :", "cbrt 8"):
            self.assertIn("C function", self.rename("a.atl", text, where, "root")["error"]["message"])

    def test_nothing_is_left_of_a_trial(self):
        text = "let a = 1\nlet b = a\n"
        self.open("a.atl", text)
        self.rename("a.atl", text, "a = 1", "b")
        self.rename("a.atl", text, "a = 1", "z")
        self.assertEqual(self.server_text(self.uri("a.atl")), text)
        self.assertIn("a : int", self.ask("hover", "a.atl", text, "a\n")["contents"]["value"])


# ---- Writing -----------------------------------------------------------------------------------------------------
class Writing(Case):
    def complete(self, text):
        """Of a text with the cursor at the `?`: labels."""
        at = text.index("?")
        plain = text[:at] + text[at + 1:]
        self.open("a.atl", plain)
        answer = self.client.request("textDocument/completion", {"textDocument": {"uri": self.uri("a.atl")}, "position": lsp_client.position(plain, at)})
        self.items = {i["label"]: i for i in answer["items"]}
        return sorted(self.items)

    def test_completion(self):
        self.assertEqual(self.complete("let apple = 1\nlet f appx = (if app?\nlet appz = 2\n"), ["append_file", "apple", "appx"])
        self.assertEqual(self.items["apple"]["detail"], "int")
        self.assertEqual(self.items["apple"]["textEdit"]["range"], {"start": {"line": 1, "character": 17}, "end": {"line": 1, "character": 20}})
        self.assertEqual(self.complete("let p = {xa = 1, xb = \"😀\"}\nlet q = {p = p}.p.?\nlet z = 1\n"), ["xa", "xb"])
        self.assertEqual(self.complete("print (Stats.medi?)\n"), ["median"])
        full = self.client.request("completionItem/resolve", self.items["median"])
        self.assertEqual(full["detail"], "float[] -> float")
        self.assertIn("edian", full["documentation"]["value"])
        self.assertEqual(self.complete("type shade = Dark\nlet f (x : sha?) = 1\n"), ["shade"])
        self.assertEqual(self.complete("type shade = Dark | Dim\nlet f x = match x with D?"), ["Dark", "Dim"])
        self.assertEqual(self.complete("let x = 1\n# some wor?\n"), [])
        self.assertEqual(self.complete("let x = \"some wor?\"\n"), [])
        self.assertEqual(self.complete("let x = 12?\n"), [])
        self.assertIn("whole", self.complete("let f whole = $\"n = {wh?\nlet y = 1\n"))
        self.assertIn("while", self.complete("wh?"))
        (self.folder / "m.atl").write_text("let member = 1\nlet _private = 2\ntype member_type = int\n")
        self.assertEqual(self.complete("import \"m.atl\" as M\nlet x = M.?"), ["member"])
        self.assertEqual(self.complete("open Sta?"), ["Stats"])

    def test_completion_of_records(self):
        """Fields of declared records that have those which are written; with others, they come first."""
        (self.folder / "m.atl").write_text("type leg = {knee : float, hip : float}\n")
        types = "import \"m.atl\" as M\ntype point = {xa : float, xb : int}\ntype other = {xa : float, xc : int}\nlet xd = 1\n"
        self.assertEqual(self.complete(types + "let f = {x?"), ["xa", "xb", "xc", "xd"])
        self.assertEqual(self.items["xb"]["detail"], "int")
        self.assertLess(self.items["xc"]["sortText"], self.items["xd"]["sortText"])
        self.assertEqual(self.complete(types + "let f = g {xb = 1, x?} 2\n"), ["xa", "xd"])
        self.assertEqual(self.complete(types + "let f {xb, x? = 1\n"), ["xa", "xd"])
        self.assertIn("hip", self.complete(types + "let f = {knee = 1.0, h?"))
        self.assertEqual(self.complete(types + "let f = {xb = x?"), ["xd"])

    def test_completion_of_fields_of_parameters(self):
        """Their type is open: fields that they are used with, and those of records that have all of these."""
        made = "let a = {left = 1.0, right = 2.0, lower = 3.0}\nlet b = {lemon = 1}\ntype t = {left : float, length_ : int}\n"
        self.assertEqual(self.complete("let f p = p.left + p.le?\n" + made), ["left", "length_"])
        self.assertEqual(self.complete("let f p = p.left + p.right * p.l?\n" + made), ["left", "lower"])
        self.assertEqual(self.complete("let f p = p.l?\n" + made), ["left", "lemon", "length_", "lower"])
        self.assertEqual(self.complete(made + "let f q = (fun r -> r.left) q.ri? + q.lower\n"), ["right"])

    def test_signature(self):
        text = "# Scales.\nlet scale (by : float) {x, y} = {x = by * x, y = by * y}\nlet a = scale 2.0 (f (1, \n"
        self.open("a.atl", text)
        s = self.ask("signatureHelp", "a.atl", text, " 2.0 (f", 1)
        label = s["signatures"][0]["label"]
        self.assertTrue(label.startswith("scale (by : float) ({x, y} : "), label)
        self.assertEqual((s["activeParameter"], s["signatures"][0]["documentation"]["value"]), (0, "Scales."))
        start, end = s["signatures"][0]["parameters"][0]["label"]
        self.assertEqual(label[start:end], "by : float")
        self.assertEqual(self.ask("signatureHelp", "a.atl", text, " (f (1", 1)["activeParameter"], 1)
        self.assertIsNone(self.ask("signatureHelp", "a.atl", text, "let a", 0))

    def test_formatting(self):
        text = "let   a=1\n\n\n\nlet b = \"😀\"  \nlet c = 3\n"
        uri = self.open("a.atl", text)
        edits = self.client.request("textDocument/formatting", {"textDocument": {"uri": uri}, "options": {}})
        formatted = subprocess.run([EXE, "fmt", "-"], input=text, capture_output=True, text=True, check=True, timeout=20).stdout
        self.assertEqual(lsp_client.apply_edits(text, edits), formatted)
        self.assertNotIn("let c", edits[0]["newText"])  # what stays isn't in it
        self.client.change(uri, [{"text": formatted}])
        self.assertEqual(self.client.request("textDocument/formatting", {"textDocument": {"uri": uri}}), [])
        self.client.change(uri, [{"text": "let a = (\n"}])
        self.assertIsNone(self.client.request("textDocument/formatting", {"textDocument": {"uri": uri}}))

    def mended(self, text):
        """The texts that the actions make of it."""
        uri = self.open("a.atl", text)
        self.wait("a.atl", len)
        everything = {"start": {"line": 0, "character": 0}, "end": {"line": 9, "character": 0}}
        actions = self.client.request("textDocument/codeAction", {"textDocument": {"uri": uri}, "range": everything, "context": {"diagnostics": []}})
        self.client.diagnostics.pop(uri)
        return [lsp_client.apply_edits(text, a["edit"]["changes"][uri]) for a in actions]

    def test_actions(self):
        self.assertEqual(self.mended("let velocity = 1\nlet f = \"😀\" ++ show velocty\n"), ["let velocity = 1\nlet f = \"😀\" ++ show velocity\n"])
        self.assertEqual(self.mended("let m = Stats.medin [1.0]\n"), ["let m = Stats.median [1.0]\n"])
        self.assertEqual(self.mended("let p = {width = 1}\nlet q = p.widht\n"), ["let p = {width = 1}\nlet q = p.width\n"])
        self.assertEqual(self.mended("let f n = if n = 0 then 0 else f (n - 1)\n"), ["let rec f n = if n = 0 then 0 else f (n - 1)\n"])
        self.assertEqual(self.mended("print (1 == 2)\n"), ["print (1 = 2)\n"])
        self.assertEqual(self.mended("let s = Math.sin 1.0\n"), ["let s = sin 1.0\n"])
        self.assertEqual(self.mended("let a = 1 + true\n"), [])


if __name__ == "__main__":
    EXE = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main(verbosity=1)
