# SPDX-License-Identifier: MIT
"""Values in other forms than text: matrices and arrays of records as HTML tables, plots as pictures.

Of an array only the rows and columns that are shown are made: the first and the last ones. What a cell of a table shows that is
neither a number nor text is Atled's own `show` of it."""
import html
import re

from .. import _library as c

ROWS, COLUMNS = 20, 20  # more are cut in the middle
PLOT = "Plot.plot"
STYLE = ' style="text-align: %s"'


def is_rich(type_text):
    return type_text == PLOT or type_text.endswith("[]")


def rich(session, type_text, digits):
    """Media type -> data of the value `it`."""
    if type_text == PLOT:
        return {"image/svg+xml": session.value("Plot.svg it"), "text/plain": session.value("Plot.text 80 24 it")}
    entry, tree = session.type_tree("it")
    element = tree.parts[0].contents
    if tree.kind != c.ARRAY or session.value("length it") == 0:
        return {}
    if tree.rank == 2 and element.kind in (c.FLOAT, c.INT, c.BOOL, c.STRING):
        return {"text/html": matrix(session, digits)}
    if tree.rank == 1 and element.kind in (c.RECORD, c.TUPLE):
        return {"text/html": records(session, element, digits)}
    return {}


# ---- Cells -----------------------------------------------------------------------------------------------------
def number_text(x, digits):
    """A float as source would write it, with so many significant digits."""
    if not abs(x) < float("inf"):
        return "nan" if x != x else "inf" if x > 0 else "-inf"
    return repr(float(f"{x:.{digits}g}")) if 0 < digits < 17 else repr(float(x))


def cell(x, digits):
    if isinstance(x, bool):
        return "true" if x else "false"
    return html.escape(number_text(x, digits) if isinstance(x, float) else str(x))


def is_number(x):
    return isinstance(x, (int, float)) and not isinstance(x, bool)


def table(head, rows, below, digits):
    """head: texts, or None; rows: (the number of the row or "⋮", its values); below: a line under the table."""
    out = ["<table>"]
    if head:
        out.append("<thead><tr><th></th>" + "".join(f"<th{STYLE % 'right'}>{html.escape(h)}</th>" for h in head) + "</tr></thead>")
    out.append("<tbody>")
    for index, values in rows:
        cells = "".join(f"<td{STYLE % ('right' if is_number(v) or v in DOTS else 'left')}>{cell(v, digits)}</td>" for v in values)
        out.append(f"<tr><th>{index}</th>{cells}</tr>")
    out.append(f"</tbody></table>\n<p>{html.escape(below)}</p>")
    return "\n".join(out)


DOTS = ("⋯", "⋮")


def shown(n, most):
    """The numbers of the rows that are shown of n: all, or the first and the last ones; and how many come first."""
    half = most // 2
    return (list(range(n)), n) if n <= most else (list(range(half)) + list(range(n - half, n)), half)


def with_gap(items, first, gap):
    return items if first >= len(items) else items[:first] + [gap] + items[first:]


# ---- Values ----------------------------------------------------------------------------------------------------
def python(x):
    return x.item() if hasattr(x, "item") else x


def matrix(session, digits):
    n, m = session.value("(shape it)[0]"), session.value("(shape it)[1]")
    (rows, first_row), (columns, first_column) = shown(n, ROWS), shown(m, COLUMNS)
    picked = session.value(f"[ it[i, j] | i in {rows}, j in {columns} ]") if m else [[] for _ in rows]
    flat = picked.tolist() if hasattr(picked, "tolist") else picked
    lines = [(i, with_gap(list(values), first_column, "⋯")) for i, values in zip(rows, flat)]
    head = with_gap([str(j) for j in columns], first_column, "⋯")
    lines = with_gap(lines, first_row, ("⋮", ["⋮"] * len(head)))
    return table(head, lines, f"{n} × {m}", digits)


def field(kind, access):
    """The expression of what a cell shows."""
    if kind in (c.FLOAT, c.INT, c.BOOL, c.STRING):
        return access
    return '"<fun>"' if kind == c.OTHER else f"show ({access})"


def records(session, element, digits):
    n = session.value("length it")
    rows, first = shown(n, ROWS)
    names = [element.names[i].decode() if element.kind == c.RECORD else str(i) for i in range(element.count)]
    kinds = [element.parts[i].contents.kind for i in range(element.count)]
    if element.kind == c.RECORD:
        row, bound = [field(k, f"r.{name}") for k, name in zip(kinds, names)], "r"
    else:
        row, bound = [field(k, f"x{i}") for i, k in enumerate(kinds)], "(" + ", ".join(f"x{i}" for i in range(len(kinds))) + ")"
    body = "(" + ", ".join(row) + ")" if len(row) > 1 else f"({row[0]}, ())"
    values = session.value(f"[ (let {bound} = it[i] in {body}) | i in {rows} ]")
    lines = [(i, [python(x) for x in r[:len(names)]]) for i, r in zip(rows, values)]
    lines = with_gap(lines, first, ("⋮", ["⋮"] * len(names)))
    return table(names, lines, f"{n} row{'s' * (n != 1)}", digits)
