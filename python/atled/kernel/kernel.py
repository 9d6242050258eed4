# SPDX-License-Identifier: MIT
"""The kernel: Jupyter's messages, over ipykernel.

A cell is evaluated in a thread of its own (Session.run_cell). What it gives comes through an Outbox, which the main thread
empties twenty times a second while it waits; so a cell's output is seen while it runs, and only the main thread sends
messages. SIGINT, by which Jupyter interrupts, is handled in the main thread too: it stops the program, and the session stays
usable. A cell that reads standard input asks through the front end, if that allows it."""
import asyncio
import concurrent.futures
import errno
import queue
import signal
import threading
import traceback

from ipykernel.kernelbase import Kernel

try:
    from IPython.core.error import StdinNotImplementedError
except ImportError:
    StdinNotImplementedError = NotImplementedError

from .. import __version__
from .history import History
from .outbox import Outbox
from .session import CellError, Host, Session

PERIOD = 0.05  # seconds between messages of a cell that runs
DESCRIBED = 200  # so many completions at most come with their types


def pygments_lexer():
    """The name of a lexer for exports by nbconvert: ours where it is installed, else that of a similar language."""
    try:
        import pygments.lexers
        pygments.lexers.get_lexer_by_name("atled")
        return "atled"
    except Exception:  # noqa: BLE001: no Pygments, or no lexer
        return "ocaml"


class _CellHost(Host):
    """Puts what a cell gives into its outbox."""

    def __init__(self):
        self.begin(0)

    def begin(self, count):
        self.outbox, self.count, self.lines, self.asks_in_vain = Outbox(), count, queue.Queue(), False

    def output(self, stream, text):
        self.outbox.write("stderr" if stream else "stdout", text)

    def display(self, media_type, data, text):
        self.outbox.put("display_data", {"data": {media_type: data, "text/plain": text}, "metadata": {}})

    def read(self):
        """The main thread asks: see AtledKernel._send."""
        self.outbox.put("input", {})
        line = self.lines.get()
        if line is None:
            self.asks_in_vain = True
            raise OSError(errno.EOPNOTSUPP, "no input")
        return line

    def say(self, text):
        self.outbox.write("stdout", text)

    def warn(self, text):
        self.outbox.write("stderr", text)

    def result(self, data):
        self.outbox.put("execute_result", {"data": data, "metadata": {}, "execution_count": self.count})


class AtledKernel(Kernel):
    implementation = "atled"
    implementation_version = __version__
    language_info = {"name": "atled", "version": __version__, "mimetype": "text/x-atled", "file_extension": ".atl",
                     "pygments_lexer": pygments_lexer(), "codemirror_mode": "text/x-ocaml"}
    banner = f"Atled {__version__}. `:help` lists commands."

    def __init__(self, **options):
        super().__init__(**options)
        self._host = _CellHost()
        self._atled = Session(self._host)
        self._worker = concurrent.futures.ThreadPoolExecutor(1, "atled")
        self._idle = threading.Lock()
        self._history, self._asking, self._signal_before = History(), False, None

    # ---- Interrupts ---------------------------------------------------------------------------------------------
    def pre_handler_hook(self):
        """ipykernel's own would raise KeyboardInterrupt somewhere in its loop."""
        self._signal_before = signal.signal(signal.SIGINT, self._on_interrupt)

    def post_handler_hook(self):
        signal.signal(signal.SIGINT, self._signal_before)

    def _on_interrupt(self, number, frame):
        self._host.outbox.close()
        self._atled.interrupt()
        if self._asking:
            raise KeyboardInterrupt  # out of the waiting for the front end

    def do_shutdown(self, restart):
        self._host.outbox.close()
        self._host.lines.put(None)
        self._atled.interrupt()
        return {"status": "ok", "restart": restart}

    # ---- Cells ----------------------------------------------------------------------------------------------------
    async def do_execute(self, code, silent, store_history=True, user_expressions=None, allow_stdin=False, *,
                         cell_meta=None, cell_id=None):
        if not self._idle.acquire(blocking=False):  # a subshell of the front end asks for it
            return self._failed(CellError("busy", "another cell runs", ["another cell runs"]), silent)
        try:
            return await self._execute(code, silent, store_history, user_expressions or {}, allow_stdin)
        finally:
            self._idle.release()

    async def _execute(self, code, silent, store_history, user_expressions, allow_stdin):
        self._allow_stdin = allow_stdin  # of raw_input
        self._host.begin(self.execution_count)
        self._atled.begin_cell()
        if store_history and not silent:
            self._history.add(self.execution_count, code)
        running = asyncio.get_running_loop().run_in_executor(
            self._worker, self._atled.run_cell, code, f"In[{self.execution_count}]")
        while not running.done():
            await asyncio.wait([running], timeout=PERIOD)
            self._send(silent)
        self._send(silent)
        error = running.exception()
        if error is not None:
            return self._failed(error, silent)
        leave = [{"source": "ask_exit", "keepkernel": False}] if self._atled.is_left else []  # for consoles
        self._atled.is_left = False
        return {"status": "ok", "execution_count": self.execution_count, "payload": leave,
                "user_expressions": self._evaluated(user_expressions)}

    def _send(self, silent):
        for kind, content in self._host.outbox.take():
            if kind == "input":
                self._host.lines.put(self._ask())
            elif not silent:
                self.send_response(self.iopub_socket, kind, content)

    def _ask(self):
        """A line of the user's with its end; None: there is none."""
        self._asking = True
        try:
            return (self.raw_input("") + "\n").encode("utf-8", "replace")
        except (StdinNotImplementedError, KeyboardInterrupt):
            return None
        finally:
            self._asking = False

    def _failed(self, error, silent):
        if isinstance(error, CellError):
            kind, message, lines = error.kind, str(error), error.lines
            if self._host.asks_in_vain and kind == "io":
                lines = [*lines, "this front end takes no input, so a cell can't read standard input"]
        else:
            kind, message = type(error).__name__, str(error)
            lines = traceback.format_exception(type(error), error, error.__traceback__)
        content = {"ename": kind, "evalue": message, "traceback": [line for text in lines for line in text.split("\n")]}
        if not silent:
            self.send_response(self.iopub_socket, "error", content)
        return {"status": "error", "execution_count": self.execution_count, **content}

    def _evaluated(self, expressions):
        def one(expression):
            try:
                return {"status": "ok", "data": {"text/plain": self._atled.evaluate_expression(expression)}, "metadata": {}}
            except CellError as e:
                return {"status": "error", "ename": e.kind, "evalue": str(e), "traceback": e.lines}

        return {name: one(expression) for name, expression in expressions.items()}

    # ---- Questions ------------------------------------------------------------------------------------------------
    def do_complete(self, code, cursor_pos):
        cursor_pos = max(0, min(cursor_pos, len(code)))
        words, start = self._atled.complete(code[:cursor_pos])
        kinds = self._atled.kinds(code[:cursor_pos], start, words if len(words) <= DESCRIBED else [])
        typed = [{"start": start, "end": cursor_pos, "text": word, "type": kind, "signature": type_text or ""}
                 for word, (kind, type_text) in zip(words, kinds)]
        return {"status": "ok", "matches": words, "cursor_start": start, "cursor_end": cursor_pos,
                "metadata": {"_jupyter_types_experimental": typed} if typed else {}}

    def do_inspect(self, code, cursor_pos, detail_level=0, omit_sections=()):
        name = self._atled.name_at(code, max(0, min(cursor_pos, len(code))))
        text = name and self._atled.describe(name, detail_level > 0)
        return {"status": "ok", "found": bool(text), "data": {"text/plain": text} if text else {}, "metadata": {}}

    def do_is_complete(self, code):
        state = self._atled.state_of(code)
        return {"status": state, **({"indent": "  "} if state == "incomplete" else {})}

    def do_history(self, hist_access_type, output, raw, session=None, start=None, stop=None, n=None, pattern=None,
                   unique=False):
        return {"status": "ok", "history": self._history.find(hist_access_type, start, stop, n, pattern, unique)}
