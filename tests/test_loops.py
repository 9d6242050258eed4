#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which loops are fused, and which recursions become loops: how many the final graph of a function holds, that there is no
call left where there are loops, and that its value is the same. And what loops keep,
and which conditions become a number of iterations.

usage: test_loops.py ATLED

Each case: a function f of an array, its number of loops, its value at [1.0, 2.0, 3.0]. In KEPT: how many closures, unknown
calls and columns (of tapes, or elements of the gradient) are in the final graph of its gradient. In PARAMS: the parameters that the recursion in f keeps. In
COMPOSED: how many constructors of trees (or their cotangents and tapes) are left in the final graph of f, where recursive functions take apart what others make.
In WALKS: whether the function walk counts references."""
import os
import re, subprocess, sys, tempfile

ATLED = sys.argv[1]
CASES = [
    ("let f (a : float[]) = sum [ x * x | x in a ]", 1, "14.0"),
    ("let f (a : float[]) = map (fun x -> x + 1.0) (map (fun x -> 2.0 * x) (map (fun x -> x * x) a))", 1, "[3.0, 9.0, 19.0]"),
    ("let f (a : float[]) = sum (map (fun x -> 2.0 * x) a)", 1, "12.0"),
    ("let f (a : float[]) = dot [ x + 1.0 | x in a ] [ 2.0 * x | x in a ]", 1, "40.0"),
    ("let f (a : float[]) = dot (map (fun x -> x + 1.0) a) a", 1, "20.0"),
    ("let f (a : float[]) = let b = [ (x, x * x) | x in a ] in sum [ let (x, y) = p in x * y | p in b ]", 1, "36.0"),
    ("let f (a : float[]) =\n  let b = [ 2.0 * x | x in a ] in\n  let mut s = 0.0 in\n"
     "  for i = 0 to length b - 1 do s <- 0.5 * s + b[i] done;\n  s", 1, "8.5"),
    # not as often, at another place
    ("let f (a : float[]) = let b = [ 2.0 * x | x in a ] in sum [ b[i] | i < length a / 2 ]", 1, "2.0"),
    ("let f (a : float[]) = let b = [ 2.0 * x | x in a ] in sum [ b[i + 1] | i < length a - 1 ]", 1, "10.0"),
    # single elements besides, in a loop over all
    ("let f a = minimum [ x * x - x | x in a ]", 1, "0.0"),
    # read by two loops, which are joined
    ("let f (a : float[]) = let b = [ 2.0 * x | x in a ] in sum b + dot b b", 1, "68.0"),
    # read from its end to its begin: computed where it is read
    ("let f (a : float[]) = let b = [ 2.0 * x | x in a ] in sum [ b[length a - 1 - i] * a[i] | i < length a ]", 1, "20.0"),
    # read in another order: made once
    ("let f (a : float[]) = let b = [ 2.0 * x | x in a ] in sum [ b[2 * i % length a] * a[i] | i < length a ]", 2, "26.0"),
    ("let f (a : float[]) = let b = [ 2.0 * x | x in a ] in sum [ sum [ b[j] * a[i] | j < length a ] | i < length a ]", 3, "72.0"),
    # the second loop changes what the first one read
    ("let f (a : float[]) =\n  let mut b = a in\n  let c = [ x + b[0] | x in b ] in\n"
     "  for i = 0 to length a - 1 do b[i] <- c[i] * b[0] done;\n  b", 2, "[2.0, 6.0, 8.0]"),
    # recursion: down and back, down only, not what goes into a constructor
    ("let rec go i (a : float[]) = if i = length a then 0.0 else a[i] - 0.5 * go (i + 1) a\nlet f a = go 0 a", 1, "0.75"),
    ("let rec go i (a : float[]) = if i = length a || a[i] > 2.0 then 0.0 else a[i] - 0.5 * go (i + 1) a\nlet f a = go 0 a", 2, "0.0"),
    ("let rec go l = match l with Nil -> 1.0 | x :: r -> x * go r\nlet f (a : float[]) = go (to_list a)", 3, "6.0"),
    ("let rec go i s (a : float[]) = if i = length a then s else go (i + 1) (s + a[i]) a\nlet f a = go 0 0.0 a", 1, "6.0"),
    ("let rec go i (a : float[]) = if i = length a then Nil else a[i] :: go (i + 1) a\nlet f a = go 0 a", 0, "1.0 :: 2.0 :: 3.0 :: Nil"),
    # both may fail: the first failure is reported
    ("let f (a : float[]) =\n  let b = [ a[int x - 1] | x in a ] in\n  sum [ x / a[int x - 1] | x in b ]", 2, "3.0"),
]

LOOP = "let f (a : float[]) =\n  let mut s = 0.0 in\n  let mut %s in\n  for i = 0 to length a - 1 do\n    %s\n  done;\n  s\n"
INNER = """let f (a : float[]) =
  let mut s = 0.0 in
  for i = 0 to length a - 1 do
    let mut y = 1.0 in
    %s;
    s += y
  done;
  s
"""
KEPT = [
    # functions that can be one of a few closures: the cosine's argument is read again
    (LOOP % ("g = fun x -> x", "s <- s + g a[i]; if i % 2 = 0 then g <- (fun x -> x * a[0]) else g <- (fun x -> sin x + a[i])"), 0, 0, 0),
    (LOOP % ("g = fun x -> x", "s <- s + g a[i]; let c = a[i] in g <- (fun x -> x * c)"), 0, 0, 0),
    # the gradient itself is a column, unless its first element is made apart; the element before is read again, the one before
    # that is kept
    (LOOP % ("b = 1.0", "s <- s + b * b * a[i]; b <- a[i]"), 0, 0, 0),
    (LOOP % ("b = 1.0", "s <- s + b * b * a[i]; b <- b * a[i]"), 0, 0, 2),
    (LOOP % ("b = 1.0", "s <- s + b * a[i]; b <- exp a[i]"), 0, 0, 3),
    # elements that are the same in all iterations are numbers that a loop is differentiated by in forward mode: it keeps nothing, whether it
    # counts or has a condition, which may read them, too. One at another index in each iteration makes it keep its state.
    (INNER % "while y < 100.0 do y <- y * a[i] + a[0] done", 0, 0, 0),
    (INNER % "while y < 100.0 * a[i] do y <- y * a[i] + 1.0 done", 0, 0, 0),
    (INNER % "let mut k = 0 in while k < length a && y < 9.0 do y <- y * y * a[i]; k += 1 done", 0, 0, 0),
    (INNER % "for k = 1 to 50 do y <- y * y * a[i] + a[0] done", 0, 0, 0),
    (INNER % "for k = 1 to length a do y <- y * y * a[i] done", 0, 0, 0),
    (INNER % "for k = 0 to length a - 1 do y <- y * y * a[i] + a[k] done", 0, 0, 1),
]


# handed on only; the same constant in every call; not the same in one of them; the same, but handed on under another condition
PARAMS = [
    ("let rec go n x c = if n = 0 then x else go (n / 2) x c + go (n - 1) x c\nlet f (a : float[]) = go (length a) a[0] a[1]", "p0 : int, p1 : float"),
    ("let rec go n c x = if n = 0 then x + c else go (n / 2) 1.5 x * go (n - 1) 1.5 x\nlet f (a : float[]) = go (length a) 1.5 a[0]", "p0 : int, p1 : float"),
    ("let rec go n c x = if n = 0 then x + c else go (n / 2) 1.5 x * go (n - 1) 2.5 x\nlet f (a : float[]) = go (length a) 1.5 a[0]", "p0 : int, p1 : float, p2 : float"),
    ("let rec go n x c = if n = 0 then x else if n = 1 then c else go (n / 2) x c + go (n - 1) x c\nlet f (a : float[]) = go (length a) a[0] a[1]",
     "p0 : int, p1 : float, p2 : float"),
]

TREES = """type tree = Leaf of float | Node of tree * tree
let rec build lo hi = if hi - lo <= 1 then Leaf (float lo) else let m = (lo + hi) / 2 in Node (build lo m, build m hi)
let rec scale c t = match t with | Leaf x -> Leaf (c * x) | Node (l, r) -> Node (scale c l, scale c r)
let rec total t = match t with | Leaf x -> x | Node (l, r) -> total l + 2.0 * total r
let rec count t = match t with | Leaf x -> (t, 1) | Node (l, r) -> let (a, n) = count l in let (b, m) = count r in (Node (b, a), n + m)
let rec inverse t = match t with | Leaf x -> Leaf (1.0 / float (10 / int x)) | Node (l, r) -> Node (inverse l, inverse r)
let rec both t = match t with | Leaf x -> x | Node (l, r) -> (if total l > 3.0 then both l else 0.5) + both r
"""
COMPOSED = [
    ("let f n = total (build 0 n)", 0),
    ("let f n = total (scale 3.0 (scale 2.0 (build 0 n)))", 0),
    ("let f n = let (t, k) = count (build 0 n) in (total t, k)", 0),
    ("let f t = scale 2.0 (scale 3.0 t)", 2),
    ("let f t = grad total (scale 2.0 t)", 2), # of the argument the shape alone matters, and no tape is kept
    # used twice, or from different places in one call; the producer may fail
    ("let f n = let t = build 0 n in total t + total (scale 2.0 t)", 2),
    ("let f n = both (build 0 n)", 2),
    ("let f t = total (inverse t)", 2),
]

# a condition that only counts, up or down; one that the data decides; one of 2^40 terms, which share all but one
DOUBLED = "".join(f"let d{k + 1} = d{k} + d{k} in " for k in range(40))
WHILE = "let f (a : float[]) =\n  let mut i = %s in\n  let mut s = 0.0 in\n  while %s do s <- s * 0.5 + float i; %s done;\n  (i, s)"
COUNTED = [
    (WHILE % ("int a[0]", "i < int a[2]", "i += 1"), True, "(3, 2.5)"),
    (WHILE % ("int a[2]", "i > 0", "i -= 1"), True, "(0, 2.75)"),
    (WHILE % ("int a[2]", "2 <= i", "i -= 1"), True, "(1, 3.5)"),
    (WHILE % ("-3", "i >= 0", "i -= 1"), True, "(-3, 0.0)"),
    (WHILE % ("int a[2]", "i > 0", "i -= 2"), False, "(-1, 2.5)"),
    (WHILE % ("int a[2]", "i > 0 && a[i - 1] > 1.5", "i -= 1"), False, "(1, 3.5)"),
    (WHILE % ("0", f"(let d0 = i - int a[2] in {DOUBLED}d40 < 0)", "i += 1"), False, "(3, 2.5)"),
]

MADE = "let rec made n = if n < 2 then Leaf 1.0 else let t = made (n - 1) in Node (t, made (n - 2))\n"
TOTAL = "let rec walk s t = match t with Leaf x -> s + x | Node (l, r) -> walk (walk s l) r\n"
WALKS = [
    (TOTAL + "let t = build 0 3\nprint (walk 0.0 t)", False),
    (TOTAL + "let g n = walk 2.0 (made n)\nprint (g 4)", False), # its fields move out of each node
    (TOTAL + "let g n = let t = made n in (walk 1.0 t, walk 2.0 t)\nprint (g 4)", False),
    # what is walked over isn't always the argument's
    ("let rec walk s t = match t with Leaf x -> s + x | Node (l, r) -> walk (walk s l) (if s > 2.0 then Node (r, l) else r)\n"
     "let t = build 0 3\nprint (walk 0.0 t)", True),
    ("let rec walk t = match t with Leaf x -> Leaf (x + 1.0) | Node (l, r) -> Node (walk l, walk r)\nlet t = build 0 3\nprint (walk t)", False),
]

# How many sums in free order have partial sums, by default and in strict mode. None has one where the number of iterations is a small
# constant, and where the program says the order.
SUMMED = [
    ("let f (a : float[]) = sum a", 1, 0),
    ("let f (a : float[]) = (sum a, dot a a)", 2, 0),
    ("let f (a : float[]) = grad (fun c -> sum [ (x - c) * (x - c) | x in a ]) 1.0", 1, 0),
    ("let f (a : float[]) = sum [ exp x | x in a ]", 1, 0),
    ("let f (a : float) = sum [ a * float i | i < 3 ]", 0, 0),
    ("let f (a : float) = sum [ a * float i | i < 33 ]", 1, 0),
    (LOOP % ("t = 1.0", "s <- s + a[i]; t <- t * 0.5"), 0, 0),
]


def run(source, *options):
    with tempfile.NamedTemporaryFile("w", suffix=".atl", encoding="utf-8") as f:
        f.write(source)
        f.flush()
        once = dict(os.environ, ATLED_PASSES="-fork_loops")  # without copies of loops for blocks
        r = subprocess.run([ATLED, *options, f.name], capture_output=True, text=True, timeout=120, env=once)
        return r.stdout + r.stderr


def main():
    bad = 0
    for source, loops, value in CASES:
        graph = run(source + "\n", "ir", "--stage=final", "--of=f")
        got = graph.count(" = loop ")
        # builds that test proofs have assertions in place of checks, which no array is read behind in another loop
        if got != loops and not (got > loops and "a check that was proved fails" in graph):
            bad += 1
            print(f"{source}\n{got} loops, expected {loops}")
        for mode in ("--jit=off", "--jit=always"):
            shown = run(f"{source}\nprint (f [1.0, 2.0, 3.0])\n", mode).strip()
            if shown != value:
                bad += 1
                print(f"{source}\n{mode} printed {shown}, expected {value}")
    for source, closures, applies, columns in KEPT:
        graph = run(f"{source}let g (a : float[]) = grad f a\n", "ir", "--stage=final", "--of=g")
        stacked = sum(int(n) for n in re.findall(r" stacked (\d+)", graph))
        got = graph.count(" = closure"), graph.count(" = apply "), stacked
        if got != (closures, applies, columns):
            bad += 1
            print(f"{source}closures, unknown calls, columns: {got}, expected {(closures, applies, columns)}")
    for source, counted, value in COUNTED:
        graph, shown = run(source + "\n", "ir", "--stage=final", "--of=f"), run(f"{source}\nprint (f [1.0, 2.0, 3.0])\n").strip()
        # a loop that carries nothing may stand beside it: it waits where the number of iterations is too large to be told
        is_counted = not re.search(r"loop carried [1-9].* while", graph)
        if (is_counted, shown) != (counted, value):
            bad += 1
            print(f"{source}\ncounted: {is_counted}, value {shown}, expected {counted, value}")
    for source, params in PARAMS:
        graph = run(source + "\n", "ir", "--stage=final", "--of=f")
        got = re.search(r"^graph go\((.*)\)", graph, re.M)
        if not got or got.group(1) != params:
            bad += 1
            print(f"{source}\nparameters {got and got.group(1)}, expected {params}")
    for source, constructors in COMPOSED:
        got = len(re.findall(r" : (?:tree'?|tape) = inj ", run(TREES + source + "\n", "ir", "--stage=final", "--of=f")))
        if got != constructors:
            bad += 1
            print(f"{source}\n{got} constructors, expected {constructors}")
    for source, counts in WALKS:
        code = re.search(r'^func \d+ "walk" .*?(?=^func|\Z)', run(TREES + MADE + source + "\n", "ir", "--stage=lowered"), re.M | re.S)
        if not code or ("RETAIN" in code.group(0)) != counts:
            bad += 1
            print(f"{source}\ncounts references: {not counts}")
    for source, sums, strict in SUMMED:
        for options, expected in (([], sums), (["--strict-fp"], strict)):
            got = run(source + "\n", "ir", "--stage=lowered", "--of=f", *options).count("LANE_SUM")
            if got != expected:
                bad += 1
                print(f"{source}\n{options}: {got} partial sums, expected {expected}")
    sys.exit(1 if bad else 0)


main()
