# SPDX-License-Identifier: MIT
"""A client of `atled lsp` for tests: messages, documents, edits in UTF-16."""
import json
import os
import queue
import subprocess
import threading
import time
import urllib.parse


def uri_of(path):
    return "file://" + urllib.parse.quote(str(path), safe="/-._~")


def path_of(uri):
    return urllib.parse.unquote(uri.removeprefix("file://"))


def lines_of(text):
    """The lines as the protocol has them: \\n, \\r\\n and \\r end one, and nothing else does."""
    lines, start, i = [], 0, 0
    while i < len(text):
        end = 2 if text.startswith("\r\n", i) else 1 if text[i] in "\r\n" else 0
        if end:
            lines.append(text[start:i + end])
            start = i + end
        i += end or 1
    return lines + [text[start:]]


def units(text):
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def position(text, index):
    """Of the character with this number."""
    line, rest = 0, index
    for piece in lines_of(text):
        if rest < len(piece) or (rest == len(piece) and not piece.endswith(("\n", "\r"))):
            break
        rest -= len(piece)
        line += 1
    return {"line": line, "character": units(lines_of(text)[line][:rest])}


def index_of(text, place):
    lines = lines_of(text)
    line = lines[place["line"]].encode("utf-16-le", "surrogatepass")[:2 * place["character"]]
    return sum(map(len, lines[:place["line"]])) + len(line.decode("utf-16-le", "surrogatepass"))


def apply_edits(text, edits):
    for e in sorted(edits, key=lambda e: -index_of(text, e["range"]["start"])):
        start, end = index_of(text, e["range"]["start"]), index_of(text, e["range"]["end"])
        text = text[:start] + e["newText"] + text[end:]
    return text


class Client:
    def __init__(self, exe, root=None, begin=True, timeout=60, can=None):
        env = {**os.environ, "XDG_CACHE_HOME": str(root)} if root else None
        self.process = subprocess.Popen([exe, "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        self.timeout, self.number = timeout, 0
        self.incoming, self.notices, self.diagnostics, self.answers = queue.Queue(), [], {}, {}
        self.published = 0
        threading.Thread(target=self.read, daemon=True).start()
        if begin:
            self.capabilities = self.request("initialize", {"processId": None, "capabilities": can or {}, "rootUri": root and uri_of(root)})
            self.notify("initialized", {})

    def read(self):
        out = self.process.stdout
        while header := out.readline():
            length = int(header.split(b":")[1])
            while out.readline().strip():
                pass
            body = out.read(length)
            if len(body) == length:
                self.incoming.put(json.loads(body))
        self.incoming.put(None)

    def send_bytes(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send_text(self, text):
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        self.send_bytes(b"Content-Length: %d\r\n\r\n" % len(data) + data)

    def send(self, message):
        self.send_text(json.dumps({"jsonrpc": "2.0", **message}))

    def notify(self, method, params):
        self.send({"method": method, "params": params})

    def receive(self, timeout=None):
        message = self.incoming.get(timeout=timeout or self.timeout)
        if message is None:
            return None
        if message.get("method") == "textDocument/publishDiagnostics":
            self.published += 1
            self.diagnostics[message["params"]["uri"]] = message["params"]["diagnostics"]
        elif "method" in message:
            self.notices.append(message)
        else:
            self.answers[message["id"]] = message
        return message

    def answer(self, number):
        end = time.monotonic() + self.timeout
        while number not in self.answers:
            if self.receive(end - time.monotonic()) is None:
                raise EOFError("the server has ended")
        return self.answers.pop(number)

    def call(self, method, params):
        """The whole answer."""
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        return self.answer(self.number)

    def request(self, method, params):
        answer = self.call(method, params)
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        return answer["result"]

    def at(self, uri, text, where, offset=0, **more):
        """A request's params for the place where `where` stands in the text."""
        return {"textDocument": {"uri": uri}, "position": position(text, text.index(where) + offset), **more}

    def open(self, uri, text, version=1):
        self.notify("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "atled", "version": version, "text": text}})

    def change(self, uri, changes, version=2):
        self.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": version}, "contentChanges": changes})

    def wait_for(self, true, seconds=None):
        end = time.monotonic() + (seconds or self.timeout)
        while not true():
            left = end - time.monotonic()
            if left <= 0:
                return False
            try:
                if self.receive(left) is None:
                    return False
            except queue.Empty:
                return False
        return True

    def settle(self, quiet=0.3):
        """All that the server has to say for now. A request makes sure that it has read all messages."""
        self.call("textDocument/hover", {"textDocument": {"uri": "file:///nothing"}, "position": {"line": 0, "character": 0}})
        while True:
            try:
                if self.receive(quiet) is None:
                    return
            except queue.Empty:
                return

    def end(self):
        """The exit status."""
        if self.process.poll() is None:
            self.call("shutdown", None)
            self.notify("exit", None)
        self.process.stdin.close()
        return self.process.wait(timeout=self.timeout)
