# SPDX-License-Identifier: MIT
"""Programs that are almost right: what is in the project as Atled source, changed in a few places.

Changes are made to tokens, so that most of what comes out is past the parser and in the checker; a share of them keeps even
the syntax whole. Many leave a definition wrong that others use. A session is a list of sources for one VM: versions of one
program, or the items of one or two, some changed, some given again."""
import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
import examples  # noqa: E402

TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[^\W\d][\w\']*(?:\.[^\W\d][\w\']*)?|\d+(?:\.\d+)?(?:e[-+]?\d+)?|[()\[\]{},;]|[^\s\w()\[\]{},;"]+|\s+|.')
OPERATORS = ["+", "-", "*", "/", "%", "^", "**", "@", "++", "::", "=", "<>", "<", "<=", ">", ">=", "&&", "||", "|>", "<|", ">>", "~=",
             "<-", "+=", "->", "|", ":", ".."]
KEYWORDS = ["let", "rec", "mut", "and", "in", "fun", "if", "then", "else", "match", "with", "when", "as", "type", "of", "for", "to",
            "downto", "while", "do", "done", "true", "false", "pullback", "tangent", "test", "bench", "open", "import"]
EDGES = ["0", "-1", "1", "9223372036854775807", "1e308", "-0.0", "nan", "inf", "[]", "()", "(1, 2)", "{x = 1}", "[[1.0], [2.0]]", '""',
         "None", "Some 1", "Nil", "(1 :: Nil)", "Error 2", "(fun x -> x)", "(fun x -> x x)", "grad", "vjp", "jvp", "stop_gradient",
         "checkpoint", "_", "unknown", "(unknown 1)", "Unknown", "List.map", "zeros [2, 3]", "reshape", "(print 1)", "fail \"no\"",
         "(let mut s = 0 in s <- 1; s)", "(match unknown with Some x -> x | None -> 1)", "par", "pmap", "map", "fold", "sum"]
TYPES = ["int", "float", "bool", "string", "unit", "'a", "'b", "int[]", "float[][]", "int list", "'a option", "(int -> int)", "unknown",
         "(int * float)", "{x : int}"]
CALCULATING = OPERATORS.index("<-")
PATTERNS = ["Some x", "None", "x :: y", "Nil", "(a, b)", "[a, b]", "{x, ..}", "{x = 1}", "1", "1.0", '"s"', "true", "Ok x | Error x", "_ as z",
            "(x : int)", "()", "x :: 1 :: Nil", "Some (x, [y])", "_", "x"]
MOST_TEXT = 20000
UNSAFE = re.compile("write_file|append_file|foreign|read_file|import")  # files, and C functions called wrongly


def corpus():
    """Texts: programs of the tests, the examples and the documentation."""
    found = []
    for pattern in ("tests/programs", "tests/diagnostics", "examples", "bench/growth", "stdlib/tests"):
        for path in sorted(glob.glob(f"{ROOT}/{pattern}/*.atl")):
            found.append(read(path))
    for path in sorted(glob.glob(f"{ROOT}/tests/language/*.atl")):
        found += [p.text() for p in examples.split_at_rules(path, read(path))]
    for path in [f"{ROOT}/README.md", *sorted(glob.glob(f"{ROOT}/docs/*.md"))]:
        found += re.findall(r"(?ms)^```atled[^\n]*\n(.*?)^```", read(path))
    found = [strip(t) for t in found]
    return [t for t in found if t and not UNSAFE.search(t)]


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def strip(text):
    """Without comments of whole lines and behind code, and without blank lines."""
    lines = [re.sub(r'^([^"#]*?)\s*#.*$', r"\1", line).rstrip() for line in text.splitlines()]
    return "".join(line + "\n" for line in lines if line)


def items(text):
    """The text cut before each line that begins in the first column, if the line can begin an item."""
    out = []
    for line in text.splitlines(True):
        if out and (line[:1] in " \t|)]}" or re.match(r"(and|in|then|else|with|do|done)\b", line)):
            out[-1] += line
        else:
            out.append(line)
    return out


def part(rng, text, most=25):
    """Some items in a row."""
    all_items = items(text)
    first = rng.randrange(max(1, len(all_items) - most + 1))
    return "".join(all_items[first:first + most])


def kind_of(token):
    """Tokens of one kind mostly stand in each other's place without a syntax error."""
    if token.isspace():
        return "blank"
    if token in KEYWORDS:
        return "keyword"
    if re.match(r"[^\W\d]", token):
        return "constructor" if token[0].isupper() and "." not in token else "name"
    if token[0].isdigit() or token[0] == '"':
        return "literal"
    return "bracket" if token in "()[]{},;" else "operator"


class Mutator:
    def __init__(self, rng, texts):
        self.rng, self.texts = rng, texts
        self.safe = [self.same_kind, self.same_kind, self.edge, self.expression, self.wrong_definition, self.wrong_definition, self.match_on,
                     self.effect]
        self.risky = [self.any_token, self.any_token, self.same_kind, self.swap, self.line]

    def mutate(self, text):
        """Some changes; in most texts only such as mostly leave the syntax whole, since nothing follows a syntax error."""
        changes = self.safe if self.rng.random() < 0.75 else self.safe + self.risky
        for _ in range(self.rng.choice((1, 1, 2, 2, 3, 4, 6))):
            tokens = TOKEN.findall(text) or ["0"]
            text = "".join(self.rng.choice(changes)(tokens))[:MOST_TEXT]
        return text

    def tokens(self):
        return TOKEN.findall(self.rng.choice(self.texts))[:2000]

    def place(self, w, kinds=("name", "constructor", "literal", "operator", "bracket", "keyword")):
        places = [i for i, t in enumerate(w) if kind_of(t) in kinds]
        return self.rng.choice(places) if places else 0

    def any_token(self, w):
        """Deletes, repeats, inserts or misspells one."""
        i, k = self.place(w), self.rng.randrange(4)
        if k == 0:
            del w[i]
        elif k == 1:
            w.insert(i, self.rng.choice(w) + " ")
        elif k == 2:
            w.insert(i, self.rng.choice((self.rng.choice(OPERATORS), self.rng.choice(KEYWORDS))) + " ")
        else:
            w[i] += "x"
        return w

    def same_kind(self, w):
        i = self.place(w, ("name", "name", "constructor", "literal", "operator"))
        kind = kind_of(w[i])
        if kind == "operator" and w[i] in OPERATORS[:CALCULATING]:
            w[i] = self.rng.choice(OPERATORS[:CALCULATING])
            return w
        if kind == "operator":
            w[i] = self.rng.choice(OPERATORS)
            return w
        others = [t for t in (self.tokens() if self.rng.random() < 0.3 else w) if kind_of(t) == kind]
        if others:
            w[i] = self.rng.choice(others)
        return w

    def edge(self, w):
        i = self.place(w, ("name", "constructor", "literal"))
        w[i] = self.rng.choice(TYPES if ":" in w[max(0, i - 2):i] else EDGES)
        return w

    def swap(self, w):
        i = self.place(w)
        j = self.place(w, (kind_of(w[i]),))
        w[i], w[j] = w[j], w[i]
        return w

    def line(self, w):
        lines = "".join(w).split("\n")
        i = self.rng.randrange(len(lines))
        other = items(self.rng.choice(self.texts))
        lines[i:i + 1] = self.rng.choice(([], [lines[i]] * 2, [self.rng.choice(lines), lines[i]], [self.rng.choice(other), lines[i]]))
        return ["\n".join(lines)]

    def expression(self, w):
        """What stands in brackets, or a single word, becomes something like it from here or elsewhere."""
        other = w if self.rng.random() < 0.6 else self.tokens()
        a, b = self.unit(w), self.unit(other)
        w[a[0]:a[1]] = other[b[0]:b[1]]
        return w

    def unit(self, w):
        opens = [i for i, t in enumerate(w) if t in ("(", "[", "{")]
        if not opens or self.rng.random() < 0.3:
            i = self.place(w, ("name", "constructor", "literal"))
            return i, i + 1
        i, depth = self.rng.choice(opens), 0
        for j in range(i, len(w)):
            depth += (w[j] in ("(", "[", "{")) - (w[j] in (")", "]", "}"))
            if depth == 0:
                return i, j + 1
        return i, i + 1

    def effect(self, w):
        """What stands in brackets, or a single word, gets an effect: also what stands in a derivative rule, where none may be."""
        a, b = self.unit(w)
        first, last = self.rng.choice((("(print 1; ", ")"), ("(let e = ", " in print 2; e)"), ("((fun e -> print e; e) ", ")"), ("(watch \"w\" ", ")")))
        w[a:b] = [first, *w[a:b], last]
        return w

    def wrong_definition(self, w):
        """What a line defines becomes something else, mostly of another type or unknown."""
        equals = [i for i, t in enumerate(w) if t == "="]
        if not equals:
            return self.edge(w)
        i = self.rng.choice(equals)
        j = next((k for k in range(i, len(w)) if "\n" in w[k]), len(w))
        w[i + 1:j] = [" ", self.rng.choice(EDGES)]
        return w

    def match_on(self, w):
        """A match of something with patterns of another type; as a definition, or in the place of a name."""
        defined = [w[i + 2] for i, t in enumerate(w[:-2]) if t in ("let", "rec") and kind_of(w[i + 2]) == "name"]
        names = defined if defined and self.rng.random() < 0.7 else [t for t in w if kind_of(t) == "name"] or ["x"]
        cases = "".join(f" | {self.rng.choice(PATTERNS)} -> {self.rng.choice(names + EDGES)}" for _ in range(self.rng.choice((1, 2, 2, 3))))
        match = f"match {self.rng.choice(names)} with{cases}"
        if self.rng.random() < 0.5:
            return w + [f"\nlet {self.rng.choice(names)} = {match}\n"]
        w[self.place(w, ("name", "literal"))] = f"({match})"
        return w

    def session(self):
        text = "".join(part(self.rng, self.rng.choice(self.texts)) for _ in range(self.rng.choice((1, 1, 2, 4))))
        if self.rng.random() < 0.6:
            versions = [self.mutate(text) for _ in range(self.rng.choice((1, 2, 2, 3)))]
            if self.rng.random() < 0.3:
                versions.insert(self.rng.randrange(len(versions) + 1), text)
            return versions
        out = []
        for source in self.cut(items(text)):
            if self.rng.random() < 0.6:
                out.append(self.mutate(source))
            if self.rng.random() < 0.6 or not out:
                out.append(source)
        return out

    def cut(self, all_items):
        """The items in up to nine groups."""
        cuts = self.rng.sample(range(1, len(all_items)), min(len(all_items) - 1, self.rng.choice((1, 2, 3, 5, 8)))) if len(all_items) > 1 else []
        cuts = [0, *sorted(cuts), len(all_items)]
        return ["".join(all_items[a:b]) for a, b in zip(cuts, cuts[1:])]
