# SPDX-License-Identifier: MIT
"""Makes a failing program smaller: puts a constant, or one of its own parts of the same type, in the place of an expression,
and drops definitions, as long as it fails in the same way. What no longer passes the checker fails differently, so
nothing here needs to know about scopes."""
import copy

import generate


def shrink(p, still_fails, runs):
    """The smallest found with so many runs."""
    makers = generate.Gen(p.number, p.seed, 1)
    makers.tables, makers.top = {}, set()
    progress = True
    while progress and runs > 0:
        progress = False
        for i in range(len(p.defs)):
            q = copy.deepcopy(p)
            del q.defs[i]
            runs -= 1
            if still_fails(q):
                p, progress = q, True
                break
        for place in biggest_first(p):
            if runs <= 0:
                break
            for e in replacements(makers, at(p, place)):
                q = copy.deepcopy(p)
                put(q, place, e)
                runs -= 1
                if still_fails(q):
                    p, progress = q, True
                    break
                if runs <= 0:
                    break
            if progress:
                break
    return p


def replacements(makers, e):
    if e.type is None:
        return
    parts = sorted((b for b in e.below() if b.type == e.type), key=lambda b: b.size())
    constant = makers.constant(e.type)
    if constant.size() < e.size() or e.size() == 1 and len(constant.text()) < len(e.text()):
        yield constant
    for b in parts[-3:] + parts[:3]:
        yield b


# A place is the index of a root and the indices of parts below it.
def places(p):
    for r, root in enumerate(p.defs + [p.body]):
        stack = [((r,), root)]
        while stack:
            place, e = stack.pop()
            yield place, e
            stack += [(place + (i,), x) for i, x in enumerate(e.parts) if isinstance(x, generate.E)]


def biggest_first(p):
    return [place for place, e in sorted(places(p), key=lambda q: -q[1].size()) if e.size() > 1]


def at(p, place):
    e = (p.defs + [p.body])[place[0]]
    for i in place[1:]:
        e = e.parts[i]
    return e


def put(p, place, e):
    if len(place) > 1:
        at(p, place[:-1]).parts[place[-1]] = copy.deepcopy(e)
        return
    r = place[0]
    if r < len(p.defs):
        p.defs[r] = copy.deepcopy(e)
    else:
        p.body = copy.deepcopy(e)
