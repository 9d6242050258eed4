# SPDX-License-Identifier: MIT
"""A terminal's screen: what stands where after the bytes that a program wrote. It knows what readline uses of xterm."""
import re
import unicodedata

SEQUENCE = re.compile(r"\x1b(?:\[([?0-9;]*)([@A-Za-z])|[()][A-Z0-9]|[=>])")


def width_of(char):
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


class Screen:
    """Lines of cells, each a character and the colour it has; the first ones have left the window at the top."""

    def __init__(self, columns=80, lines=24):
        self.columns, self.lines = columns, lines
        self.rows, self.row, self.column, self.colour, self.waits = [{}], 0, 0, "", False

    def down(self):
        self.row += 1
        if self.row == len(self.rows):
            self.rows.append({})

    def put(self, char):
        width = width_of(char)
        if self.waits or self.column + width > self.columns:  # the line is full
            self.down()
            self.column = 0
        self.rows[self.row][self.column] = (char, self.colour)
        self.column += width
        self.waits = self.column == self.columns
        self.column -= self.waits

    def erase(self, row, first, end):
        for column in range(first, end):
            self.rows[row].pop(column, None)

    def sequence(self, numbers, letter):
        n = int(numbers) if numbers.isdigit() else 0
        cells = self.rows[self.row]
        if letter == "m":
            self.colour = "" if n == 0 and ";" not in numbers else numbers
            return
        self.waits = False
        if letter == "A":
            top = max(0, len(self.rows) - self.lines)
            self.row = max(top, self.row - max(n, 1))
        elif letter == "C":
            self.column = min(self.columns - 1, self.column + max(n, 1))
        elif letter == "D":
            self.column = max(0, self.column - max(n, 1))
        elif letter == "K":
            self.erase(self.row, self.column, self.columns)
        elif letter == "J":
            self.erase(self.row, self.column, self.columns)
            del self.rows[self.row + 1:]
        elif letter == "P":
            moved = {k - max(n, 1): c for k, c in cells.items() if k >= self.column + max(n, 1)}
            self.rows[self.row] = {k: c for k, c in cells.items() if k < self.column} | moved
        elif letter == "@":
            moved = {k + max(n, 1): c for k, c in cells.items() if k >= self.column and k + max(n, 1) < self.columns}
            self.rows[self.row] = {k: c for k, c in cells.items() if k < self.column} | moved
        elif letter not in "hlrn":
            raise ValueError(f"the sequence CSI {numbers} {letter} isn't known")

    def feed(self, text):
        at = 0
        while at < len(text):
            if m := SEQUENCE.match(text, at):
                if m[2]:
                    self.sequence(m[1], m[2])
                at = m.end()
                continue
            char = text[at]
            at += 1
            if char == "\r":
                self.column, self.waits = 0, False
            elif char == "\n":
                self.down()
                self.waits = False
            elif char == "\b":
                self.column, self.waits = max(0, self.column - 1), False
            elif char >= " ":
                self.put(char)

    def text(self):
        """The lines, without blanks at their ends."""
        out = []
        for cells in self.rows:
            line, column = "", 0
            while column <= max(cells, default=-1):
                char = cells.get(column, (" ",))[0]
                line += char
                column += max(1, width_of(char))
            out.append(line.rstrip())
        return out

    def colour_of(self, word):
        """The colour of the word's first occurrence, which must be one."""
        for cells in self.rows:
            columns = sorted(cells)
            at = "".join(cells[c][0] for c in columns).find(word)
            if at >= 0:
                colours = {cells[c][1] for c in columns[at:at + len(word)]}
                return colours.pop() if len(colours) == 1 else colours
        return None
