# SPDX-License-Identifier: MIT
"""The cells that were evaluated, of this session and of those before it: consoles recall them, and those of a kernel that was killed
are still there.

They are kept in `$XDG_STATE_HOME/atled/cells`, as the prompt keeps its entries (repl/history.c): each is a line, in which ends of lines
are `\\n` and backslashes `\\\\`. A cell is appended when it begins, so kernels side by side lose nothing. Where the file can't be read or
written, nothing is kept."""
import fnmatch
import os
import pathlib
import re

KEPT, LONGEST = 5000, 1 << 16  # cells; bytes of one that is kept


def place():
    state = os.environ.get("XDG_STATE_HOME", "")
    home = pathlib.Path(state) if state.startswith("/") else pathlib.Path.home() / ".local/state"
    return home / "atled" / "cells"


def escaped(text):
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def unescaped(line):
    return re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], line)


class History:
    def __init__(self):
        self._path = place()
        self._before, self._own = self._read(), []

    def _read(self):
        """(session, number, text) of earlier sessions, all of them as one."""
        try:
            lines = self._path.read_text(encoding="utf-8", errors="replace").split("\n")[:-1]
            if len(lines) > 2 * KEPT:
                new = self._path.with_name(f"cells.{os.getpid()}")
                self._write(new, "".join(f"{line}\n" for line in lines[-KEPT:]))
                new.replace(self._path)
        except OSError:
            return []
        return [(-1, number, unescaped(line)) for number, line in enumerate(lines[-KEPT:], 1)]

    @staticmethod
    def _write(path, text):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with open(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "wb") as f:
            f.write(text.encode("utf-8", "replace"))

    def add(self, number, text):
        self._own.append((0, number, text))
        if text.strip() and len(text) <= LONGEST:
            try:
                self._write(self._path, escaped(text) + "\n")
            except OSError:
                pass

    def find(self, access, start=None, stop=None, n=None, pattern=None, unique=False):
        """The cells that Jupyter asks for: "range" of this session's numbers, "tail" the last n, "search" those that fit."""
        if access == "range":
            return [e for e in self._own if (start or 0) <= e[1] and (stop is None or e[1] < stop)]
        entries = self._before + self._own
        if access == "search":
            entries = [e for e in entries if fnmatch.fnmatchcase(e[2], pattern or "*")]
            if unique:
                entries = list({e[2]: e for e in entries}.values())
        return entries[-n:] if n else entries
