# SPDX-License-Identifier: MIT
"""The colours of Atled's source text for Pygments, as exports of notebooks have them. Installing the package tells Pygments of it."""
from pygments.lexer import RegexLexer, bygroups, default, include, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text

# BEGIN: made by editors/make_grammars.py
WORDS = {
    "definition": ("let", "rec", "mut", "and", "in", "type", "of", "as"),
    "function": ("fun",),
    "conditional": ("if", "then", "else", "match", "with", "when"),
    "loop": ("for", "to", "downto", "while", "do", "done", "break"),
    "boolean": ("true", "false"),
}
ITEMS = ["import", "open", "foreign", "test", "pullback", "tangent", "rule"]
SYMBOLS = "!= && ** *= ++ += -= -> .. /= :: <- <= <> <| == => >= >> |> || ~= % * + - / : < = > @ ^ _ |".split()
# END

_STRING = r'r"[^"]*"|"(?:[^"\\]|\\.)*"'
_LETTER = r"[^\W\d]"
_REST = r"[\w']*"
_KINDS = {"loop": Keyword, "conditional": Keyword, "boolean": Keyword.Constant}


class AtledLexer(RegexLexer):
    """Source text of Atled."""

    name = "Atled"
    aliases = ["atled"]
    filenames = ["*.atl"]
    mimetypes = ["text/x-atled"]

    tokens = {
        "root": [
            (r"\s+", Text),
            (r"#.*", Comment.Single),
            (r"\(\*(?!\))", Comment.Multiline, "comment"),
            (r'r"[^"]*"', String),
            (r'\$"', String, "interpolated"),
            (r'"', String, "string"),
            (rf"'{_LETTER}{_REST}", Keyword.Type),
            (rf"^(?:{'|'.join(ITEMS)})(?=[ \t]+[\w\"$])", Keyword.Declaration),
            (rf"^bench(?=\s+(?:{_STRING})\s*=)", Keyword.Declaration),
            *[(words(members, prefix=r"(?<![\w'])", suffix=r"(?![\w'])"), _KINDS.get(kind, Keyword))
              for kind, members in WORDS.items()],
            (r"0[xX][\da-fA-F_]+", Number.Hex),
            (r"\d[\d_]*(?:\.(?!\.)[\d_]*(?:[eE][-+]?\d+)?|[eE][-+]?\d+)", Number.Float),
            (r"\d[\d_]*", Number.Integer),
            (rf"([A-Z]{_REST})(\.)(?=\w)", bygroups(Name.Namespace, Punctuation)),
            (rf"[A-Z]{_REST}", Name.Class),
            (rf"{_LETTER}{_REST}|_{_REST}", Name),
            (words(SYMBOLS), Operator),
            (r"[()\[\]{},;.]", Punctuation),
            (r".", Text),
        ],
        "comment": [
            (r"[^(*]+", Comment.Multiline),
            (r"\(\*", Comment.Multiline, "#push"),
            (r"\*\)", Comment.Multiline, "#pop"),
            (r"[(*]", Comment.Multiline),
        ],
        "string": [
            (r'[^"\\]+', String),
            (r"\\(?:u\{[\da-fA-F]*\}|.)", String.Escape),
            (r'"', String, "#pop"),
            default("#pop"),
        ],
        "interpolated": [
            (r'[^"\\{}]+', String),
            (r"\{\{|\}\}", String.Escape),
            (r"\\(?:u\{[\da-fA-F]*\}|.)", String.Escape),
            (r"\{", String.Interpol, "hole"),
            (r'"', String, "#pop"),
            (r"\}", String),
            default("#pop"),
        ],
        "hole": [
            (r"\}", String.Interpol, "#pop"),
            (r":(?!:)[^{}\"]*", String.Interpol),  # the format
            (r"[(\[{](?!\*)|\((?=\*\))", Punctuation, "brackets"),
            include("root"),
        ],
        "brackets": [
            (r"[)\]}]", Punctuation, "#pop"),
            (r"[(\[{](?!\*)|\((?=\*\))", Punctuation, "#push"),
            include("root"),
        ],
    }
