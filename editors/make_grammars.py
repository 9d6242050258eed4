#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the parts of the editors' grammars that follow from the tables of the compiler.

usage: make_grammars.py [--check]

Words and symbols come from src/lexer/tokens.def, the words that begin items from src/parser/items.c, names of types from
src/check/scope.c and stdlib/prelude.atl. This script knows only the group of each word and symbol. It writes
  - the entries words, items, operators, known-types and annotation in vscode/syntaxes/atled.tmLanguage.json,
  - what stands between BEGIN and END in vim/syntax/atled.vim,
  - and in python/atled/kernel/lexer.py, for Pygments.
The rest of these files is written by hand. Regular expressions of the TextMate grammar are such that Python reads them, too:
tests/test_editors.py runs them. --check writes nothing and fails where a file isn't what would be written."""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEXTMATE = ROOT / "editors" / "vscode" / "syntaxes" / "atled.tmLanguage.json"
VIM = ROOT / "editors" / "vim" / "syntax" / "atled.vim"
PYGMENTS = ROOT / "python" / "atled" / "kernel" / "lexer.py"

# The groups: each has a scope of TextMate, a group of Vim (of words, what that of the same name is linked to), and its words or
# symbols.
WORDS = {
    "definition": ("keyword.other.definition", "Keyword", "let rec mut and in type of as"),
    "function": ("keyword.other.function", "Keyword", "fun"),
    "conditional": ("keyword.control.conditional", "Conditional", "if then else match with when"),
    "loop": ("keyword.control.loop", "Repeat", "for to downto while do done break"),
    "boolean": ("constant.language.boolean", "Boolean", "true false"),
}
SYMBOLS = {
    "assignment": ("keyword.operator.assignment", "atledOperator", "<- += -= *= /="),
    "arrow": ("keyword.operator.arrow", "atledOperator", "-> =>"),
    "comparison": ("keyword.operator.comparison", "atledOperator", "= <> < <= > >= ~="),
    "logical": ("keyword.operator.logical", "atledOperator", "&& ||"),
    "arithmetic": ("keyword.operator.arithmetic", "atledOperator", "+ - * / % ^ ** @"),
    "function": ("keyword.operator.function", "atledOperator", "|> <| >>"),
    "list": ("keyword.operator.list", "atledOperator", ":: ++"),
    "other": ("keyword.operator.other", "atledOperator", ".. | : _"),
    "foreign": ("invalid.illegal.operator", "atledNoOperator", "== !="),
}
BRACKETS_AND_SEPARATORS = set("( ) [ ] { } , ; .".split())
BENCH = "bench"  # the word of an item that has a string and `=` behind it; the others, a name or a string
# What a name goes on with, and an item's first word has behind it.
LETTER = r"[A-Za-z0-9_']|[^\x00-\x7F]"
NAME_OR_STRING = r'(?=\s+(?:[A-Za-z_"$]|[^\x00-\x7F]))'


def read(*path):
    return ROOT.joinpath(*path).read_text(encoding="utf-8")


# ---- The tables --------------------------------------------------------------------------------------
def tokens(form):
    """The texts of the rows of one form."""
    text = read("src", "lexer", "tokens.def")
    rows = re.findall(r'^TOKEN\((\w+), "(.*?)", (\w+)\)', text, re.M)
    if len(rows) != len(re.findall(r"^TOKEN\(", text, re.M)):
        sys.exit("make_grammars.py: a row of tokens.def isn't understood")
    return [spelling for _, spelling, row_form in rows if row_form == form]


def words_of_items():
    """The words that are keywords only where an item begins."""
    return found(re.findall(r'at_word\(p, "(\w+)"\)', read("src", "parser", "items.c")), "words of items")


def types():
    scalars = re.search(r"builtin\[\] = \{(.*?)\}", read("src", "check", "scope.c"))
    declared = re.findall(r"^type .*?(\w+) =", read("stdlib", "prelude.atl"), re.M)
    return found(re.findall(r'"(\w+)"', scalars[1] if scalars else ""), "scalar types") + found(declared, "types of the prelude")


def found(names, what):
    if not names:
        sys.exit(f"make_grammars.py: the {what} aren't where they were")
    return names


def grouped(groups, spellings, others=frozenset()):
    """The groups with the spellings of the table that each has; every spelling is in one group."""
    known = [s for _, _, members in groups.values() for s in members.split()]
    lacking, unknown = set(spellings) - set(known) - others, set(known) - set(spellings)
    if lacking or unknown or len(known) != len(set(known)):
        sys.exit(f"make_grammars.py: give each token of tokens.def a group: {sorted(lacking)} have none, {sorted(unknown)} are no tokens")
    return {name: (scope, vim, members.split()) for name, (scope, vim, members) in groups.items()}


# ---- TextMate ------------------------------------------------------------------------------------------
def any_of(texts):
    """Longer ones first, since the first that fits is taken."""
    return "|".join(re.escape(t) for t in sorted(texts, key=lambda t: (-len(t), t)))


def whole_word(words):
    return rf"(?:{any_of(words)})(?!{LETTER})"


def by_length(groups):
    """(length, group, symbols) of the symbols of one length in each group, longest first: the longest that fits is a token."""
    lengths = sorted({len(s) for _, _, members in groups.values() for s in members}, reverse=True)
    for length in lengths:
        for name, (_, _, members) in groups.items():
            symbols = [s for s in members if len(s) == length]
            if symbols:
                yield length, name, symbols


def textmate_parts(words, symbols):
    all_words = [w for _, _, members in words.values() for w in members]
    other_items = [w for w in words_of_items() if w != BENCH]
    string = r'r"[^"]*"|"(?:[^"\\]|\\.)*"'
    return {
        "words": {"patterns": [{"match": whole_word(members), "name": f"{scope}.atled"} for scope, _, members in words.values()]},
        "items": {"patterns": [
            {"match": rf"^(?:{any_of(other_items)})(?!{LETTER}){NAME_OR_STRING}", "name": "keyword.other.item.atled"},
            {"match": rf"^bench(?=\s+(?:{string})\s*=)", "name": "keyword.other.item.atled"}]},
        "operators": {"patterns": [{"match": any_of(members), "name": f"{symbols[name][0]}.atled"}
                                   for _, name, members in by_length(symbols)]},
        "known-types": {"match": whole_word(types()), "name": "support.type.atled"},
        # A type ends at a token that no type holds outside of brackets, or at the end of the line.
        "annotation": {"begin": r":(?!:)", "end": rf"(?=[),}};|\]]|=(?!>)|{whole_word(all_words)}|$)",
                       "beginCaptures": {"0": {"name": "keyword.operator.other.atled"}}, "patterns": [{"include": "#type"}]},
    }


def textmate():
    before = json.loads(TEXTMATE.read_text(encoding="utf-8"))
    made = textmate_parts(grouped(WORDS, tokens("WORD")), grouped(SYMBOLS, tokens("SYMBOL"), BRACKETS_AND_SEPARATORS))
    before["repository"] = dict(sorted({**before["repository"], **made}.items()))
    return json.dumps(before, indent=2, ensure_ascii=False) + "\n"


# ---- Vim -----------------------------------------------------------------------------------------------
def vim_pattern(texts):
    r"""Behind `\V`, where a symbol means itself."""
    return r"\|".join(sorted(texts, key=lambda t: (-len(t), t)))


def vim_group(name):
    return f"atled{name.capitalize()}"


def vim_syntax_lines():
    words, symbols = grouped(WORDS, tokens("WORD")), grouped(SYMBOLS, tokens("SYMBOL"), BRACKETS_AND_SEPARATORS)
    others = [w for w in words_of_items() if w != BENCH]
    for name, (_, _, members) in words.items():
        yield f"syn keyword {vim_group(name)} {' '.join(members)}"
    yield rf"""syn match atledItem "\v^%({'|'.join(others)})>'@!\ze\s+%([A-Za-z_\"$]|[^\x00-\x7F])" """.rstrip()
    yield r'''syn match atledItem "\v^bench\ze\s+%(r\"[^\"]*\"|\"%([^\"\\]|\\.)*\")\s*\="'''
    yield f"syn keyword atledKnownType contained {' '.join(types())}"
    # Of matches that begin at one place Vim takes the one that is defined last.
    for _, name, members in reversed(list(by_length(symbols))):
        yield rf'syn match {symbols[name][1]} "\V{vim_pattern(members)}"'
    for name, (_, vim, _) in words.items():
        yield f"hi def link {vim_group(name)} {vim}"
    yield "hi def link atledItem Keyword"
    yield "hi def link atledKnownType Type"
    yield "hi def link atledOperator Operator"
    yield "hi def link atledNoOperator Error"


# ---- Pygments ------------------------------------------------------------------------------------------
def pygments_lines():
    """WORDS, the words of each group; ITEMS, those that are keywords only where an item begins; SYMBOLS, longest first."""
    words, symbols = grouped(WORDS, tokens("WORD")), grouped(SYMBOLS, tokens("SYMBOL"), BRACKETS_AND_SEPARATORS)
    yield "WORDS = {"
    for name, (_, _, members) in words.items():
        yield f'    "{name}": {tuple(members)!r},'.replace("'", '"')
    yield "}"
    yield "ITEMS = " + json.dumps([w for w in words_of_items() if w != BENCH])
    all_symbols = [s for _, _, members in symbols.values() for s in members]
    yield f'SYMBOLS = "{" ".join(sorted(all_symbols, key=lambda s: (-len(s), s)))}".split()'


def between(path, comment, lines):
    text = path.read_text(encoding="utf-8")
    before, begin, rest = re.split(f"({comment} BEGIN: made by .*make_grammars.py\n)", text)
    return before + begin + "".join(line + "\n" for line in lines) + f"{comment} END\n" + rest.split(f"{comment} END\n")[1]


def main():
    made = {TEXTMATE: textmate(), VIM: between(VIM, '"', vim_syntax_lines()), PYGMENTS: between(PYGMENTS, "#", pygments_lines())}
    if sys.argv[1:] != ["--check"]:
        for path, text in made.items():
            path.write_text(text, encoding="utf-8")
        return
    wrong = [str(path.relative_to(ROOT)) for path, text in made.items() if path.read_text(encoding="utf-8") != text]
    if wrong:
        sys.exit(f"{', '.join(wrong)}: make them anew by editors/make_grammars.py")


if __name__ == "__main__":
    main()
