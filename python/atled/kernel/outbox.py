# SPDX-License-Identifier: MIT
"""What a cell gives, in order, on its way from the thread that evaluates to the one that sends Jupyter's messages.

Neighbouring pieces of one stream become one message, and a program that prints faster than messages are sent waits."""
import codecs
import threading

FULL = 1 << 20  # characters that wait to be sent


class Outbox:
    def __init__(self):
        self._changed, self._messages, self._size, self._open = threading.Condition(), [], 0, True
        self._decoders = {}

    def write(self, stream, text):
        """Text of a stream, "stdout" or "stderr"; bytes may end within a character."""
        if isinstance(text, bytes):
            decoder = self._decoders.setdefault(stream, codecs.getincrementaldecoder("utf-8")("replace"))
            text = decoder.decode(text)
        with self._changed:
            if self._messages and self._messages[-1][0] == "stream" and self._messages[-1][1] == stream:
                self._messages[-1][2].append(text)
            else:
                self._messages.append(("stream", stream, [text]))
            self._wait(len(text))

    def put(self, kind, content):
        """A message of another kind."""
        with self._changed:
            self._messages.append((kind, None, content))
            self._wait(sum(map(len, content.get("data", {}).values())))

    def _wait(self, size):
        self._size += size
        while self._size > FULL and self._open:
            self._changed.wait(1.0)

    def take(self):
        """(kind, content) of the messages that are to be sent now."""
        with self._changed:
            messages, self._messages, self._size = self._messages, [], 0
            self._changed.notify_all()
        return [(kind, {"name": stream, "text": "".join(content)} if kind == "stream" else content)
                for kind, stream, content in messages]

    def close(self):
        """Nobody waits any more: the cell is stopped."""
        with self._changed:
            self._open = False
            self._changed.notify_all()
