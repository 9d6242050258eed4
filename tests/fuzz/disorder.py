# SPDX-License-Identifier: MIT
"""Programs in disorder, for the formatter: comments, empty lines, line ends and blanks at any place between tokens.

The lexer here is another one than that of the library, so that the two check each other. `tokens` cuts a text into
tokens, of which each hole of an interpolated string is cut too; `disordered` makes a text of the same tokens."""
import re

WORD = re.compile(r"[^\W\d]\w*'*(?:\w|')*|'[a-z_]\w*|_")
NUMBER = re.compile(r"0[xX][0-9a-fA-F_]+|\d[\d_]*(?:\.(?!\.)[\d_]*)?(?:[eE][+-]?\d[\d_]*)?")
SYMBOL = re.compile(r"\+=|-=|\*=|/=|->|\+\+|\*\*|\.\.|\|>|\|\||::|<-|<\||<>|<=|>>|>=|=>|~=|&&|[-+*/()\[\]{},;=<>.:|%@^]")
STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.S)
RAW = re.compile(r'r"[^"]*"')
HOLE_TEXT = re.compile(r'(?:[^"\\{]|\\u\{[0-9a-fA-F]*\}|\\.|\{\{)*', re.S)
FORMAT = re.compile(r':[^}"\n]*')
BLANKS = re.compile(r"[ \t\r\n\f]+")
STARTS = re.compile(r"let\b|type\b|fun\b|if\b|match\b|for\b|while\b|true\b|false\b|[(\[{\"$\d_]|[^\W\d]")
NO_STARTS = {"and", "in", "then", "else", "with", "do", "done", "when", "as", "of", "to", "downto", "rec", "mut", "break"}


class Token:
    """text; before: what stands before it; kind: "comment", "token" or, of strings with holes, "open", "format", "close"."""

    def __init__(self, text, before, kind="token", column0=False):
        self.text, self.before, self.kind, self.column0 = text, before, kind, column0


def comment_end(text, at):
    depth = 0
    while True:
        if text.startswith("(*", at):
            depth, at = depth + 1, at + 2
        elif text.startswith("*)", at):
            depth, at = depth - 1, at + 2
            if not depth:
                return at
        else:
            at += 1
        if at >= len(text):
            raise ValueError("a comment without an end")


def next_token(text, at, holes):
    """Its end and kind. holes: for each open hole the brackets that are open in it."""
    if text[at] == "#":
        end = text.find("\n", at)
        return (len(text) if end < 0 else end), "comment"
    if text.startswith("(*", at):
        return comment_end(text, at), "comment"
    if holes and holes[-1] == 0 and text[at] == ":" and text[at:at + 2] != "::":
        return FORMAT.match(text, at).end(), "format"
    if text.startswith('$"', at) or (holes and holes[-1] == 0 and text[at] == "}"):
        begins = text[at] == "$"
        end = HOLE_TEXT.match(text, at + (2 if begins else 1)).end()
        if text[end] == "{":
            if begins:
                holes.append(0)
            return end + 1, "open"
        if begins:
            return end + 1, "token"
        holes.pop()
        return end + 1, "close"
    for pattern in (RAW, STRING, NUMBER, WORD, SYMBOL):
        m = pattern.match(text, at)
        if m:
            break
    else:
        raise ValueError(f"no token at {text[at:at + 20]!r}")
    if holes and m[0] in "([{":
        holes[-1] += 1
    if holes and m[0] in ")]}":
        holes[-1] -= 1
    return m.end(), "token"


def tokens(text):
    out, at, holes = [], 0, []
    while True:
        m = BLANKS.match(text, at)
        before = m[0] if m else ""
        at += len(before)
        if at >= len(text):
            return out
        column0 = not holes and (at == 0 or text[at - 1] == "\n")
        end, kind = next_token(text, at, holes)
        out.append(Token(text[at:end], before, kind, column0))
        at = end


def begins_item(t):
    return t.kind != "comment" and t.column0 and t.text not in NO_STARTS and bool(STARTS.match(t.text))


def normal_comment(text):
    return "\n".join(line.rstrip(" \t\r\f") for line in text.split("\n"))


def content(text):
    """What formatting must not change: tokens and comments in order, and which of them begin items."""
    return [(normal_comment(t.text), "comment") if t.kind == "comment" else (t.text, begins_item(t)) for t in tokens(text)]


COMMENTS = ["(* c *)", "(**)", "(* (* nested *) *)", "(* two\nlines *)", "(* \"no string *)", "# words", "#", "#no space", "#  let x = 1  ",
            "(* a long comment that takes up a good part of the line, and makes it too wide *)"]


def gap(rng, rate, item, tight):
    """What to put between two tokens. item: the second one begins an item; tight: nothing may come between."""
    if tight:
        return ""
    out = ""
    while rng.random() < rate:
        kind = rng.randrange(4)
        if kind == 0:
            comment = rng.choice(COMMENTS)
            out += rng.choice(["", " ", "\n", "\n  ", "\n\n"]) + (comment if comment[0] == "(" else comment + "\n")
        elif kind == 1:
            out += "\n" * rng.choice([1, 1, 1, 2, 4])
        elif kind == 2:
            out += " " * rng.choice([1, 2, 30])
        else:
            out += rng.choice(["\t", "\r\n", " \n", "\f"])
    if item:
        return out if out.endswith("\n") else out + "\n"
    return out + " " * rng.choice([1, 1, 2, 9]) if out else out


def disordered(text, rng, rate):
    """A text of the same tokens and more comments. rate: how likely it is that something is put into a gap."""
    out, last = "", None
    for t in tokens(text):
        item = begins_item(t)
        tight = last is None or (t.text == "[" and not t.before and last.kind != "comment")
        new = gap(rng, rate, item, tight)
        if last is not None and last.kind == "comment" and last.text[0] == "#" and "\n" not in new:
            new = "\n" + new
        if not item and last is not None and new[-1:] in ("", "\n"):
            new += " " if new or t.before else ""
        if not new and t.before and not tight:
            new = t.before if rng.random() < 0.9 or item else " "
        out += new + t.text
        last = t
    return out + rng.choice(["", "\n", "\n\n\n", " # the end", "\n(* the end *)"])
