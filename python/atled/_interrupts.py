# SPDX-License-Identifier: MIT
"""Ctrl-C during a call: KeyboardInterrupt, as in Python's own code.

Python runs its signal handlers between bytecodes, so while the library runs none would be. But a signal also writes a byte into the
wakeup descriptor (signal.set_wakeup_fd) at once. A thread waits for SIGINT's byte and interrupts the programs that are running;
their calls return, and Python's handler raises KeyboardInterrupt. Where somebody else has a wakeup descriptor, as asyncio while it runs,
nothing is set up, and an interrupt waits for the end of the call."""
import signal
import socket
import threading
import weakref

programs = weakref.WeakSet()
_watch = None  # made when the first program is made in the main thread


def _interrupt_running():
    for p in list(programs):
        if p._lock.acquire(blocking=False):  # nobody runs it
            p._lock.release()
        else:
            p.interrupt()


def _listen(ours):
    while True:
        signals = ours.recv(64)
        if not signals:
            return
        if signal.SIGINT in signals:
            _interrupt_running()


def watch(program):
    """From here on Ctrl-C stops what the program runs."""
    global _watch
    programs.add(program)
    if _watch or threading.current_thread() is not threading.main_thread():
        return
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    before = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
    if before != -1:
        signal.set_wakeup_fd(before)
        ours.close()
        theirs.close()
        return
    _watch = ours, theirs
    threading.Thread(target=_listen, args=(ours,), name="atled interrupts", daemon=True).start()
