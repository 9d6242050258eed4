# SPDX-License-Identifier: MIT
"""Expressions of each type as text with holes; Gen.template in generate.py says what the holes mean.

Rows are (name, text, weight). Arguments are guarded, so that every function is smooth where it is used."""
import re


UNARY = ["sin", "cos", "tanh", "sigmoid", "atan", "erf"]


def calls(names, argument, weight):
    return [(n, f"{n} ({argument})", weight) for n in names.split()]


# Decisions by p + z, where p is a product and z its negative: 0 if the product is rounded, and not if it is fused with the sum.
# Each value needs p as well, which keeps it from being fused; what computes p + z again for the decision alone may fuse it.
DECIDED = "decided by a rounded product"
ROUNDING = "in let z = [ -(q[i] * w[i]) | i < "
WALK = "(let (q, w) = ({A}, {A}) " + ROUNDING + "{n} ] in let mut s = {F} in "
STEP = "for i = 0 to {n} - 1 do (let p = q[i] * w[i] in %s) done; s)"
ROUNDED = [
    (DECIDED, WALK + STEP % "s <- (if p + z[i] > 0.0 then sin s else 0.9 * s) + 0.1 * sin p", 1),
    (DECIDED + ", index", WALK + "let t = [0.9, -0.4] in " + STEP % "s <- sin s * t[max 0 (min 1 (int (1e20 * (p + z[i]))))] + 0.1 * sin p", 1),
    (DECIDED + ", trips", WALK + STEP % "(for j = 0 to max 0 (min 1 (int (1e20 * (p + z[i])))) do s <- 0.9 * sin s done); s <- s + 0.1 * sin p", 1),
    (DECIDED + ", inside", WALK + STEP % "(for j = 0 to i / 9 do s <- if p + z[i + j] > 0.0 then sin s else 0.9 * s done); s <- s + 0.1 * sin p", 1),
    (DECIDED + ", later", WALK + "let mut e = -1.0 in " + STEP % "(s <- if e > 0.0 then sin s else 0.9 * s); s <- s + 0.1 * sin p; e <- p + z[i]", 1),
]

# Rows and slices of arrays, and what is updated by rows.
PARTS = [
    ("columns by index", "(let (q, r) = ({M}, {A}) in sum [ sin (sum [ q[j, i] * r[j % length r] + 0.1 * q[j, 0] | j < {n} ]) | i < length q[0] ])", 0.6),
    ("triangles of columns", "(let q = {M} in let k = {I} in sum [ sum [ q[j, i] * ({F}) | j < min {n} (i + k % 3) ] ^ 2 | i < {m} ])", 0.5), ("triangles", "(let q = {M} in let r = {A} in sum [ cos (sum [ q[j % {n}, i] * r[i % {n}] | j < i ]) + sum [ q[j, i] | j < {n} - i ] | i < {m} ])", 0.6),
    ("rows by index", "(let q = {M} in sum [ dot q[i] q[i] | i < {n} ])", 0.5), ("rows and a number", "(let q = {M} in let mut s = {F} in for i = 0 to {n} - 1 do s <- sin (s * sum q[i]) done; s)", 0.5),
    ("rows mapped to numbers", "sum (map (fun r -> sin (sum r)) ({M}))", 0.5), ("slices", "(let q = {A} in sum [ sin (sum q[i / 2..i + 1]) | i < {n} ])", 0.7),
    ("slices of rows", "(let q = {M} in sum [ sum q[i][..i % {m} + 1] | i < {n} ])", 0.5), ("rows of slices", "(let q = {M} in let r = q[..{n}] in sum [ logsumexp r[i] | i < {n} ])", 0.5),
    ("rows of several lengths", "sum [ (let (r, c) = p in c * dot r r) | p in [ (({A})[..i % {n} + 1], {F}) | i < 2 ] ]", 0.4),
    ("a long sum", "(let q = {A} in 0.02 * sum [ q[i % {n}] * q[(i + 1) % {n}] | i < 45 ])", 0.6),
    ("a sum as long as the data says", "(let (q, c) = ({A}, {F}) in 0.02 * sum [ (q[i % {n}] - c) * (q[i % {n}] - c) | i < 36 + length q ])", 0.6),
    ("elements updated", "(let mut q = [ { v = {A3}, x = {F} } | i < 3 ] in for i = 0 to 3 do q[i % 3].v[at (i + ({I})) 3] <- sin q[(i + 1) % 3].x; "
     "q[at ({I}) 3].x <- q[i % 3].v[1] done; sum [ r.x * dot r.v r.v | r in q ])", 0.5),
    ("gradient by records with rows", "(let (q, k) = ([ { v = ({A})[..i % {n} + 1], x = {F} } | i < 3 ], {I}) in sum [ r.x + sum r.v | r in "
     "grad (fun b -> sum [ r.x * sin (dot r.v r.v) | r in b ] + sum [ b[i].x * b[at (i + k) 3].v[0] | i < 3 ]) q ])", 0.5),
    ("gradient by records that change", "(let (q, k) = ([ { v = ({A})[..i % {n} + 1], x = {F} } | i < 3 ], {I}) in inner q (grad (fun b -> (let mut c = b in for i = 0 to 2 do "
     "c[at (i + k) 3] <- c[i]; c[i].v[0] <- c[at k 3].x * {c} done; sum [ r.x * sin (dot r.v r.v) | r in c ])) q))", 0.5),
    ("maps", "(let q = {A} in let m = Map.set (at ({I}) 4) ({F}) (Map.of_array [ (i % 3, q[i]) | i < {n} ]) in Map.fold (fun y k v -> sin (y + float k * v)) "
     "(Map.find 0.3 (at ({I}) 5) m) m)", 0.3),
    ("gradient by maps", "(let (k, m) = (at ({I}) 4, Map.of_array (mapi (fun i p -> (i, p)) ({A}))) in inner m (grad (fun b -> sin (Map.find 0.5 k b) * "
     "Map.fold (fun y k v -> y + v * v) 0.0 b) m))", 0.3),
    ("rows in closures", "(let q = {M} in let g = [ (fun y -> y * sum q[i]) | i < {n} ] in sum [ h ({F}) | h in g ])", 0.4),
]

# What may fail, in each way, and what then becomes of it. Holes in an attempt are in the body of a function value.
FAILING = [
    ("index", "({A})[at ({I}) 6]"), ("division", "0.1 * float (7 / at ({I}) 3)"), ("fail", "if {B} then fail \"q\" else {F}"),
    ("fail with text", "if {B} then {F} else fail $\"at {({I}) + 1}\""), ("assert", "(assert ({B}); {F})"),
    ("slice", "sum ({A})[..at ({I}) 5]"), ("shapes", "sum (({A}) + zeros (at ({I}) 4))"),
    ("size", "sum [ sin ({F} + p) | p in zeros (at ({I}) 4 - 1) ]"), ("match", "(match {O} with | Some q -> q | None -> fail \"none\")"),
    ("loop", "(let q = {A} in let mut s = {F} in for i = 0 to at ({I}) 6 do s <- sin (s * q[i]) done; s)"),
    ("updates", "(let mut q = {A} in for i = 0 to at ({I}) 6 do q[i] <- sin (q[i] + ({F})) done; sum q)"),
    ("fold", "fold (fun y i -> sin (y + 1.0 / float (5 / i))) ({F}) (range (at ({I}) 3) 4)"),
    ("recursion", "(let rec go k y = if k < 0 then fail \"deep\" else if k = 0 then y else sin (go (k - 2) (0.9 * y)) in go (at ({I}) 6) ({F}))"),
    ("grad", "grad (fun q -> if q > {c} then fail \"late\" else q * sin q) ({F})"),
    ("vjp", "(snd (vjp (fun q -> [sin q, q * q][at ({I}) 4]) ({F}))) 0.7"),
    ("jvp", "snd (jvp (fun q -> sin q / float (2 / at ({I}) 3)) ({F}) 0.7)"),
]
# What fails where the variable `bad` is 9, and not where it is 0, once its operands have printed.
PRINTS = '(print "! {id}"; %s)'
ORDERED = [(name, re.sub(r"<<(.*?)>>", lambda m: PRINTS % m[1], text)) for name, text in [
    ("index", "(let q = {A} in q[bad + <<at ({I}) {n}>>])"), ("index of effect", "<<{A}>>[bad]"),
    ("two indices", "(let q = {M} in q[bad + <<at ({I}) {n}>>, <<at ({I}) {m}>>])"), ("slice", "sum (<<{A}>>[bad..])"),
    ("slice's end", "(let q = {A} in sum q[..<<bad>>])"), ("division", "0.1 * float (<<at ({I}) 5>> / (bad - 9))"),
    ("remainder", "0.1 * float (7 % (<<bad>> - 9))"), ("dot", "dot ({A}) (<<{A}>>[bad / 9..])"),
    ("sum of arrays", "sum (({A})[bad / 9..] + <<{A}>>)"), ("matrix product", "sum (flatten (({M}) @ <<({MT})[bad / 9..]>>))"),
    ("matrix and vector", "sum (({M}) @ <<({ROW})[bad / 9..]>>)"), ("rows", "sum (flatten [({A})[bad / 9..], <<{A}>>])"),
    ("update", "(let mut q = {A} in q[bad + <<at ({I}) {n}>>] <- <<{F}>>; sum q)"),
    ("update at a place", "(let mut q = {A} in q[bad] <- <<{F}>>; sum q)"), ("addition to a place", "(let mut q = {A} in q[bad] += <<{F}>>; sum q)"),
    ("update of a row", "(let mut q = {M} in q[0] <- <<({ROW})[bad / 9..]>>; sum (flatten q))"),
    ("update in a record", "(let mut q = {R} in q.w[<<bad>>] <- <<{F}>>; sum q.w)"),
    ("match", "(match <<bad>> with 0 -> (print \"! behind {id}\"; {F}))"), ("pattern", "(let [q] = <<[{F}, 0.5][1 - bad / 9..]>> in q)"),
    ("call", "unless bad <<{F}>>"), ("call of unit", "(let g = (fun () -> unless bad 0.5) in g <<()>>)"),
    ("call of a value", "(let g = (if {B} then unless else (fun k q -> unless k (sin q))) in g <<bad>> <<{F}>>)"),
    ("assertion", "(assert (<<bad>> < 9); (print \"! behind {id}\"; {F}))"), ("text", "0.1 * float (Str.length (Str.sub \"abc\" 0 <<bad>>))"),
    ("size", "sum (zeros (<<5>> - bad))"), ("map2", "sum (map2 (fun p q -> sin (p * q)) ({A}) <<({A})[bad / 9..]>>)"),
    ("pipe", "<<{F}>> |> unless bad"), ("condition", "(if <<{B}>> then unless bad 0.3 else unless bad ({F}))"),
    ("logic", "(if <<true>> && ({A})[bad] > 0.1 then 0.1 else (print \"! behind {id}\"; {F}))"), ("inner", "inner ({A}) <<({A})[bad / 9..]>>"),
    ("in a loop", "(let a = {A} in let mut q = {F} in for i = 0 to 2 do q += a[<<i / 2 * bad>>] done; sin q)"),
    ("before an effect in a loop", "(let a = {A} in let mut q = {F} in for i = 0 to 2 do q += <<a[i / 2 * bad]>>; q <- (print \"! behind {id}\"; sin q) done; q)"),
    ("in a comprehension", "sum [ ({A})[<<i * bad>>] | i < 2 ]"), ("operands that fail", "<<unless bad ({F})>> * (print \"! behind {id}\"; {F}) + <<unless bad 0.2>>"),
    ("fold", "fold (fun p q -> <<sin (unless bad (p * q))>> * (print \"! behind {id}\"; 0.9)) ({F}) ({A})")]]
ATTEMPT = "(match attempt (fun () -> %s) with | Ok q -> sin q | Error _ -> {F})"
NESTED = "(match attempt (fun () -> match attempt (fun () -> %s) with | Ok q -> q + (%s) | Error e -> 0.1 * float (Str.length e.message) + {F}) with | Ok q -> q | Error _ -> {F})"
AROUND = ("(let mut q = {A} in let mut s = {F} in for i = 0 to {n} do (let p = q in match attempt (fun () -> p[i] * (%s)) with "
          "| Ok v -> q[i] <- sin v | Error _ -> s <- 0.9 * s; q[0] <- 0.5 * q[0]) done; s + sum q)")
ATTEMPTS = [("attempted " + name, ATTEMPT % text, 0.15) for name, text in FAILING]
ATTEMPTS += [(f"attempted {name} in an attempt", NESTED % (text, FAILING[i - 5][1]), 0.05) for i, (name, text) in enumerate(FAILING)]
ATTEMPTS += [(f"attempted {name} among updates", AROUND % text, 0.05) for name, text in FAILING]

# Signs of zeros, which reciprocals show. Conversions to ints forget them; the others are made of ints and constants: of what
# derivatives are in, they may differ. The last ones are sums that a condition may leave as they begin.
SIGNS = [(name, f"0.1 * atan (1.0 / {text})", weight) for name, text, weight in [
    ("sign of a conversion", "float (int ({F}))", 0.4), ("sign of a remainder", "float (int (3.0 * ({F})) % 3)", 0.2),
    ("sign of a conversion of either", "float (if {B} then int ({F}) else int (0.5 * ({F})))", 0.2),
    ("sign of conversions", "float (int (0.5 * float (int ({F}))))", 0.2), ("sign of a product", "({c} * float (at ({I}) 2))", 0.2),
    *[(f"sign of {f}", f"{f} ({{c}} * float (at ({{I}}) 2))", 0.1) for f in ("trunc", "round", "ceil", "floor", "abs", "sign", "tanh", "sqrt")],
    ("sign of the least", "min ({c} * float (at ({I}) 2)) (0.0 * {c})", 0.1), ("sign of the greatest", "max (0.0 * {c}) ({c} * float (at ({I}) 2))", 0.1),
    ("sign of a sum", "({c} * float (at ({I}) 2) + 0.0 * {c})", 0.1), ("sign of a difference", "(0.0 * {c} - {c} * float (at ({I}) 2))", 0.1),
    ("sign of the sum of some", "(let k = {I} in let q = [ {c} * float (i + k) - 0.3 | i < 24 ] in let mut s = -0.0 in "
     "for i = 0 to 23 do (if q[i] > {c} then s <- s + q[i]) done; s)", 0.3),
    ("sign of the sum of some, folded", "(let k = {I} in fold (fun s p -> if p > {c} then p + s else s) (-0.0) [ {c} * float (i + k) | i < 20 + k % 9 ])", 0.3)]]
SIGNS += [("signs of conversions", "sum [ 0.1 * atan (1.0 / float (int p)) | p in ({A}) ]", 0.3)]

# Elements that nobody uses, where the derivative is infinite.
UNUSED = [(f"unused element: {what}", f"(let k = at ({{I}}) {{n}} in (mapi (fun i p -> {text}) ({{A}}))[k])", 0.2) for what, text in [
    *[(f, f"0.2 * {f} (sin p + 800.0 * float (max (i - k) (k - i)))") for f in ("exp", "expm1", "sinh", "cosh")],
    ("power", "(sin p + 1e200 * float (max (i - k) (k - i))) ^ 3"), ("root", "sqrt ((1.1 + sin p) * float (1 - min 1 (max (i - k) (k - i))))")]]

FLOATS = ROUNDED + PARTS + ATTEMPTS + SIGNS + UNUSED + [
    ("add", "{F} + {F}", 3), ("watched", "watch \"w\" ({F})", 0.3), ("subtract", "{F} - {F}", 3), ("multiply", "{F} * {F} * 0.7", 4), ("negate", "-({F})", 1),
    ("divide", "({F}) / (1.6 + sin ({F}))", 2), ("smooth", "{f1} ({F})", 8), ("scale", "{c} * {F}", 2),
    *calls("exp expm1 sinh cosh tan asin atanh", "0.8 * sin ({F})", 0.4),
    *calls("acos asinh erfc", "0.8 * sin ({F})", 0.4),
    *calls("sqrt cbrt log log2 log10 log1p acosh gamma lgamma digamma", "2.5 + sin ({F})", 0.4),
    ("softplus", "softplus ({F})", 0.4), ("abs", "abs ({F})", 0.4), ("relu", "relu ({F})", 0.4),
    ("min", "min ({F}) ({F})", 0.4), ("max", "max ({F}) ({F})", 0.4), ("clamp", "clamp (-1.0) 1.0 ({F})", 0.3),
    ("atan2", "atan2 ({F}) (1.5 + cos ({F}))", 0.4), ("hypot", "hypot ({F}) (1.5 + cos ({F}))", 0.4),
    ("power", "(2.0 + sin ({F})) ** sin ({F})", 0.6), ("int power", "(sin ({F})) ^ (at ({I}) 4)", 0.8),
    ("square", "(sin ({F})) ^ 2", 0.8), ("floor", "0.1 * floor ({F})", 0.15), ("ceil", "0.1 * ceil ({F})", 0.15),
    ("round", "0.1 * round ({F})", 0.15), ("trunc", "0.1 * trunc ({F})", 0.15),
    ("zeros", "0.5 * cos (sum (zeros (let k = {I} in k * k % 5)))", 0.2),
    ("random", "0.1 * (Random.uniform (Random.key (at ({I}) 7)) 2)[1] * ({F})", 0.15),
    ("shuffled", "(let q = {A4} in q[(Random.permutation (Random.key 3) 4)[at ({I}) 4]])", 0.15), ("sign", "0.3 * sign ({F})", 0.15),
    ("float of int", "0.2 * float (at ({I}) 5)", 0.8), ("int of float", "0.1 * float (int ({F}))", 0.15),
    ("sum", "sum ({A})", 1.5), ("sum of rows", "sum [ dot r r | r in ({M}) ]", 0.6), ("mean", "mean ({A})", 0.8),
    ("product", "product (map sin ({A}))", 1), ("dot", "dot ({A}) ({A})", 1.5), ("norm", "norm (({A}) + [ 3.0 | i < {n} ])", 0.5),
    ("maximum", "maximum ({A})", 0.5), ("minimum", "minimum ({A})", 0.5), ("logsumexp", "logsumexp ({A})", 0.5), ("rest of a share", "(let q = sin ({F}) - 39.0 in 1e17 * (hvp logsumexp [0.0, q] [1.0, 0.0])[0])", 0.3),
    ("reduce", "reduce (+) 0.0 ({A})", 0.3), ("fold array", "fold (fun p q -> sin (p * q + 0.3)) ({F}) ({A})", 1),
    ("trace", "trace ({SQ})", 0.3), ("flatten", "sum (flatten ({M}))", 0.4), ("inner", "inner ({M}) ({M})", 0.6),
    ("inner of records", "inner ({R}) ({R})", 0.5), ("element", "(let q = {A} in q[at ({I}) {n}])", 1),
    ("element of a matrix", "(let q = {M} in q[at ({I}) {n}, at ({I}) {m}])", 1), ("field", "({R}).b", 1),
    ("length", "0.1 * float (length ({A}))", 0.2), ("list fold", "List.fold (fun p q -> sin (p + q)) ({F}) ({L})", 1),
    ("list sum", "sum (of_list ({L}))", 0.5), ("option", "(match {O} with | Some q -> sin q | None -> {F})", 0.5),
    ("shape", "(match {S} with | Circle q -> q | Rect (p, q) -> p * q | Spline v -> sum v | Dot -> {F})", 1),
    ("call", "({FUN}) ({F})", 4), ("call of two", "({F2}) ({F}) ({F})", 1.5), ("pipe", "{F} |> {FUN}", 1),
    ("functions in an array", "(let q = {AF} in q[at ({I}) 2] ({F}))", 1),
    ("functions folded", "fold (fun y f -> f y) ({F}) ({AF})", 1), ("functions in a list", "List.fold (fun y f -> f y) ({F}) ({LF})", 1),
    ("function in an option", "(match {OF} with | Some f -> f ({F}) | None -> {F})", 1),
    ("twice", "(let twice f y = f (f y) in twice ({FUN}) ({F}))", 1), ("stored", "(let (f, y) = ({FUN}, {F}) in f y)", 1),
    ("recursion through data", "(let z = {F} in let step s k p = if k <= 0 then p else match s with Knot g -> g s (k - 1) (sin (p + z)) in "
     "step (Knot step) (at ({I}) 4) ({F}))", 0.5),
    ("recursion through data, twice", "(let step s k p = match s with Knot g -> (if k <= 0 then {c} * p else g s (k - 1) p + g s (k - 2) (sin p)) in "
     "step (Knot step) (at ({I}) 3) ({F}))", 0.3),
    ("second derivative", "grad (grad ({FUN})) ({F})", 0.6), ("derivative of a value", "grad ({FUN}) ({F})", 0.8),
    ("forward over reverse", "deriv (grad ({FUN})) ({F})", 0.5), ("reverse over forward", "grad (deriv ({FUN})) ({F})", 0.5),
    ("gradients in a loop", "(let g = {FUN} in let mut q = {F} in for i = 0 to 2 do q <- q - 0.1 * grad g q done; q)", 0.6),
    ("gradients in a sum", "(let g = {FUN} in sum [ grad g q | q in ({A}) ])", 0.6),
    ("function carried", "(let (g, h) = ({FUN}, {FUN}) in let mut f = g in let mut q = {F} in "
     "for i = 0 to 2 do q <- f q; (if i % 2 = 0 then f <- h else f <- g) done; q + grad f q)", 0.5),
    ("function grown", "(let mut f = {FUN} in for i = 0 to 2 do (let h = f in f <- (fun p -> sin (h p + {c}))) done; grad f ({F}))", 0.4),
    ("function folded", "(fold (fun g q -> fun p -> sin (g p * q)) ({FUN}) ({A})) ({F})", 0.4),
    ("function chosen by a fold", "(let h = {FUN} in let g = fold (fun g q -> if q > {c} then g else h) ({FUN}) ({A}) in grad g ({F}))", 0.4),
    ("slopes folded", "fold (fun y f -> sin (y + grad f y)) ({F}) ({AF})", 0.4),
    ("functions of slopes", "(let q = [ (fun p -> sin (grad f p)) | f in ({AF}) ] in deriv (q[at ({I}) 2]) ({F}))", 0.3),
    ("text", "(match float_of_string (show (at ({I}) 3)) with | Some q -> 0.1 * q | None -> {F})", 0.3),
    ("length of text", "0.1 * float (Str.length (show ({I})))", 0.3), ("sorted", "(sort ({A4}))[1]", 0.3),
    ("constant table", "(let q = [[0.5, -1.25, 1.0 / 3.0], [2.0, 0.75, -0.5]] in q[at ({I}) 2, at ({I}) 3] * ({F}))", 0.5),
    ("constant table changed", "(let mut q = [[0.5, -1.25], [2.0, 0.75]] in q[at ({I}) 2, 1] <- {F}; sum (q[at ({I}) 2]) + q[1, 1])", 0.5),
    ("constants carried", "(let mut q = [1.0, 0.5] in for i = 0 to 3 do q[i % 2] <- sin (q[(i + 1) % 2] * ({F})) done; q[0] + q[1])", 0.5),
    ("records of constants", "sum [ p.x * dot p.v [1.0, 0.5] * ({F}) | p in [{ x = 0.5, v = [1.0, 2.0] }, { x = -0.5, v = [2.0, 0.25] }] ]", 0.4),
    ("list of constants", "(let (z, i) = ({F}, {I}) in let rec go l = match l with Nil -> z | v :: r -> v[at i 2] * go r in go ([0.5, 1.5] :: [0.25, -1.0] :: Nil))", 0.4),
    ("compared", "(if compare ({I}) ({I}) > 0 then {F} else sin ({F}))", 0.3), ("compared records", "float (compare { v = {A}, i = {I} } { v = {A}, i = {I} }) * ({F})", 0.3),
    ("hashed", "(let (q, i) = ({A4}, {I}) in if hash (q, i) = hash (q ++ [], i + 0) then q[at i 2] else nan)", 0.3),
    ("total", "total ({S})", 0.4), ("total of a structure", "total [ { v = q * {c}, i = {I} } | q in ({A}) ]", 0.3),
    ("for over an array", "(let mut s = {F} in for q in ({A}) do s <- sin s + 0.5 * q done; s)", 0.4),
    ("for over a list", "(let mut s = {F} in for q in to_list ({A}) do s <- 0.5 * s + cos q done; s)", 0.4),
    ("for over parts", "(let mut s = {F} in for (i, q) in [ (i, q) | i < 2, q in ({A4}) ] |> flatten do s <- s * 0.5 + q * float (i + 1) done; s)", 0.3),
    ("list found", "(match List.find_map (fun q -> if q > {c} then Some (sin q) else None) (to_list ({A})) with | Some q -> q | None -> {F})", 0.3),
    ("list filtered", "List.fold (fun s q -> sin s + q) ({F}) (List.filter_map (fun q -> if q > {c} then Some (q * q) else None) (to_list ({A})))", 0.3),
    ("list folded by index", "List.foldi (fun i s q -> sin s + q * float (i + 1)) ({F}) (to_list ({A}))", 0.3),
    ("list sorted", "(match List.sort_with (fun p q -> compare q p) (to_list ({A4})) with | p :: q :: _ -> p - 0.5 * q | _ -> {F})", 0.3),
    ("padded text", "0.1 * float (Str.length (Str.pad_left 5 (Str.repeat (at ({I}) 3) \"ab\") ++ Str.pad_right 4 (show ({I}))))", 0.2),
    ("bytes of text", "(let q = show ({I}) in 0.1 * float (Str.byte q (Str.byte_length q - 1)) * ({F}))", 0.15),
    ("text of bytes", "0.1 * float (Str.byte (Str.of_bytes [ 65 + at ({I}) 20 + i | i < 5 ]) 3)", 0.15),
    ("constant pattern", "(let q = show ({I}) in match Regex.find \"[2-7]+\" q with Some m -> 0.1 * float m.start + ({F}) | None -> if Regex.test \"^-?[01]\" q then 0.5 * ({F}) else {F})", 0.15),
    ("words", "0.1 * float (length (Str.words (show ({I}) ++ \" b  c\"))) * ({F})", 0.2),
    ("a picture's text", "(let q = ({A4}) in (if Str.length (Plot.svg (Plot.empty |> Plot.line \"q\" q q)) > 0 then q[1] else nan))", 0.05),
    ("pmap", "sum (pmap ({FUN}) ({A}))", 0.2), ("par", "(let (p, q) = par (fun () -> {F}) (fun () -> {F}) in p * sin q)", 0.4),
    ("par of loops", "(let (p, q) = par (fun () -> sum ({A})) (fun () -> fold (fun p q -> sin (p + q)) ({F}) ({A})) in p - q)", 0.3),
    ("par of all", "sum (Par.all [ (fun () -> {F}), (fun () -> {F}) ])", 0.3), ("par reduce", "Par.reduce (fun p q -> sin p + q) 0.0 ({A})", 0.3),
    ("par in recursion", "(let z = {F} in let rec go k = if k <= 0 then sin z else (let (p, q) = par (fun () -> go (k - 1)) (fun () -> go (k - 2)) "
     "in sin (p * q + z)) in go (at ({I}) 6))", 0.4),
    ("par over slices", "(let rec go (v : float[]) = if length v <= 1 then sum v else (let h = length v / 2 in "
     "let (p, q) = par (fun () -> go v[..h]) (fun () -> go v[h..]) in sin p + {c} * q) in go ({A}))", 0.4), ("floats", "sum (floats ({S}))", 0.4), ("quadratic form", "dot ({A}) (({SQ}) @ ({A}))", 0.7),
]

VECTORS = [
    ("scaled", "{c} * ({A})", 2), ("watched array", "watch \"w\" ({A})", 0.3), ("plus", "({A}) + ({A})", 2), ("times", "({A}) * ({A})", 2), ("mapped", "map {f1} ({A})", 2),
    ("map", "map ({FUN}) ({A})", 3), ("matrix vector", "({M}) @ ({ROW})", 2), ("vector matrix", "({ROW}) @ ({MT})", 1.5),
    ("cumsum", "cumsum ({A})", 1), ("scan", "scan (fun p q -> sin (p + q)) ({F}) ({A})", 1), ("reverse", "reverse ({A})", 1),
    ("sort", "sort ({A})", 0.4), ("softmax", "softmax ({A})", 0.5), ("row", "(let q = {M} in q[at ({I}) {n}] ++ [])[..0] ++ ({A})", 0.2),
    ("column", "(let q = {M} in q[.., at ({I}) {m}])", 1), ("replicate", "replicate {n} ({F})", 0.7), ("tabulate", "tabulate {n} (fun i -> sin ({c} * float i))", 0.5),
    ("map2", "map2 (fun p q -> sin (p * q)) ({A}) ({A})", 1), ("zip", "[ p * q | (p, q) in zip ({A}) ({A}) ]", 1),
    ("linspace", "linspace ({F}) ({F}) {n}", 0.3), ("through a list", "of_list (to_list ({A}))", 0.5),
    ("jacobian", "(let g = {FUN} in jacobian (fun z -> map g z) ({A}) @ ({A}))", 0.5), ("hessian", "(let g = {FUN} in hessian (fun z -> sum (map g z)) ({A}) @ ({A}))", 0.3),
    ("of pairs", "[ p * q | (p, q) in ({P}) ]", 0.8), ("mapi", "mapi (fun i q -> float i * sin q) ({A})", 0.5),
    ("pullbacks of elements", "(let g = {FUN} in [ grad g q | q in ({A}) ])", 0.5), ("product with diag", "diag ({A}) @ ({A})", 0.3),
    ("constants", "(let q = [0.5, -1.25, 2.0] in [ q[i % 3] * ({F}) | i < {n} ])", 0.6),
    ("constants changed", "(let mut q = [ 0.5 | i < {n} ] in q[at ({I}) {n}] <- {F}; q)", 0.4),
    ("changed in a list", "(let l = ({A}) :: ({A}) :: Nil in let mut q = l in for i = 0 to {n} - 1 do q <- (match q with "
     "| a :: b :: r -> (let mut c = a in c[i] <- sin c[i] + 0.5 * a[0]; b :: c :: r) | r -> r) done; "
     "0.5 * (List.hd q + List.hd l))", 0.7),
    ("concat", "(({A}) ++ ({A}))[{n}..]", 1), ("unzip", "fst (unzip ({P}))", 0.4), ("applied", "[ f ({F}) | (f, i) in zip [ {FUN} | i < {n} ] ({A}) ]", 0.5),
]

MATRICES = [
    ("rows updated", "(let mut q = {M} in for i = 0 to {n} - 1 do q[i] <- {c} * q[i] + 0.5 * q[i / 2] done; q)", 1),
    ("rows exchanged", "(let mut q = {M} in for i = 1 to {n} - 1 do (let r = q[i] in q[i] <- q[i - 1]; q[i - 1] <- 0.5 * r) done; q)", 0.7),
    ("matrix product", "({M}) @ [ [ sin (float (i + j)) | j < {m} ] | i < {m} ]", 1.5), ("square product", "({SQ}) @ ({M})", 1.5),
    ("matrix plus", "({M}) + ({M})", 2), ("matrix scaled", "({F}) * ({M})", 2), ("outer", "outer ({A}) ({ROW})", 2),
    ("transpose", "transpose ({MT})", 1.5), ("rows mapped", "[ map {f1} r | r in ({M}) ]", 1.5), ("reshape", "reshape [{n}, {m}] (flatten ({M}))", 1),
    ("rows", "[ ({F}) * r | r in ({M}) ]", 1), ("equal rows", "[ {ROW} | i < {n} ]", 1),
    ("of columns", "[ [ q * q | q in r ] | r in ({M}) ]", 1), ("jacobian matrix", "0.5 * (({M}) * ({M}))", 1),
]

TEMPLATES = {
    "F": FLOATS, "vec": VECTORS, "mat": MATRICES,
    "I": [("int add", "{I} + {I}", 2), ("int subtract", "{I} - {I}", 1), ("int multiply", "{I} * {I}", 1), ("at", "at ({I}) 3", 2),
          ("length of array", "length ({A})", 0.5), ("rounded", "int (round (sin ({F})))", 0.3), ("if int", "if {B} then {I} else {I}", 1),
          ("int fold", "sum [ i * i | i < at ({I}) 4 ]", 0.5), ("unknown length", "(let k = {I} in sum [ i + 1 | i < k * k % 5 ])", 0.4), ("parsed", "(match int_of_string (show ({I})) with | Some q -> q | None -> 0)", 0.3),
          ("int field", "({R}).k", 0.4), ("int divide", "{I} / (1 + at ({I}) 3)", 0.5), ("int negate", "-({I})", 0.5),
          ("int power of int", "at ({I}) 4 ^ at ({I}) 3", 0.4), ("min and max of ints", "max (min ({I}) 3) ({I})", 0.4), ("argmax", "argmax ({A})", 0.3)],
    "B": [("less", "{F} < {F}", 3), ("greater", "{F} > {c}", 4), ("int less", "{I} < {I}", 3), ("int equal", "at ({I}) 2 = 0", 3), ("int unequal", "at ({I}) 3 <> ({I})", 0.7),
          ("float unequal", "({F}) <> {c}", 0.5), ("at most", "({F}) <= {c}", 0.7), ("bools equal", "{B} = {B}", 0.5), ("nan", "is_nan ({F})", 0.3), ("and", "{B} && {B}", 1),
          ("or", "{B} || {B}", 1), ("not", "not ({B})", 1), ("any", "any (fun q -> q > {c}) ({A})", 0.5), ("text equal", "show ({I}) = \"3\"", 0.5),
          ("list is empty", "(match {L} with | Nil -> true | _ -> false)", 0.5), ("compare", "({F}, {I}) < ({F}, {I})", 0.5)],
    "FUN": [("named", "{f1}", 3), ("composed", "{f1} >> ({FUN})", 2), ("gradient as function", "grad ({FUN})", 1), ("deriv as function", "deriv ({FUN})", 0.7),
            ("of two, partial", "({F2}) ({F})", 2), ("checkpointed", "checkpoint ({FUN})", 0.5), ("operator", "( + ) ({F})", 0.7)],
    "R": [("with", "{ ({R}) with b = {F} }", 2), ("with array", "{ ({R}) with w = {A3} }", 2)],
    "list": [("tail", "(match {T} with | _ :: t -> t | Nil -> Nil)", 1), ("append", "({T}) ++ ({T})", 0.7)],
    "opt": [("none", "None", 0.3)],
    "tree": [("leaf", "Leaf", 0.5)],
    "shape": [("dot shape", "Dot", 0.3)],
}
