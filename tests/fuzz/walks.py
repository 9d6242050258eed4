# SPDX-License-Identifier: MIT
"""Random walks over the rows and slices of an array, and what they cost as the array grows.

A gradient costs a constant times its function, for every program. What breaks that rule is mostly a copy of a whole array at
each step of a walk over it, and no comparison of values sees one. So each walk is run at two sizes, function and gradient, and
the bytes that they ask for (cost.c) may grow no faster for the one than for the other. At a small size the gradient is
compared with differences.

A walk is a function of an array, of rows or of numbers, or of records that hold arrays of several lengths. Holes in the texts:
{R} a number made of the row r; {S} the row at step i, {S0} always that of one length; {n} the number of steps; {c} a number, which no element is equal to; {f} a smooth function; {e} a number made of the
number y. Those of recursion are explained at its texts."""
import itertools
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time

SMALL, LARGE, CHECKED, FEW = 2000, 8000, 7, 3  # steps
FASTER, MORE = 1.5, 16 << 20          # growth by more than that of the function, or linear growth, is a fault (memory comes in large pieces)
SMOOTH = ["sin", "cos", "tanh", "atan"]

# Arguments: type, the text that makes one of n steps, the rows at step i that are at hand, all rows.
ROWS, NUMBERS, CUBE, RAGGED = "rows", "numbers", "cube", "ragged"
INPUTS = {
    ROWS: ("float[][]", "[ [ 0.3 + 0.05 * float ((3 * i + 2 * j) % 11) | j < 4 ] | i < n ]"),
    NUMBERS: ("float[]", "[ 0.3 + 0.05 * float ((3 * i) % 11) | i < 4 * n ]"),
    CUBE: ("float[][][]", "[ [ [ 0.3 + 0.05 * float ((3 * i + 2 * j + k) % 11) | k < 3 ] | j < 4 ] | i < n ]"),
    RAGGED: ("(float[] * float)[]", "[ ([ 0.3 + 0.05 * float ((3 * i + 2 * j) % 11) | j < 2 + i % 3 ], {c}) | i < n ]"),
}
# Of these numbers of steps some are hidden, so that no index is known to be within its array.
HIDDEN = "int (float (length m))"
STEPS = {ROWS: "length m", NUMBERS: "length m / 4", CUBE: "length m", RAGGED: "length m"}
AT = {
    ROWS: ["m[i]", "m[i]", "m[i][1..]", "(m[i] - m[(7 * i + 1) % length m])", "(m[i] * m[length m - 1 - i])", "({c} * m[i])",
           "m[i..i + 1][0]", "([ [0.3, 0.1, 0.2, 0.4], [0.2, 0.5, 0.1, 0.1] ] @ m[i])", "(m[i..i + 1] @ [0.3, 0.1, 0.2, 0.4] ++ [0.5])"],
    NUMBERS: ["m[4 * i..4 * i + 4]", "m[i..i + 3]", "m[i..i + 4][1..]", "(m[4 * i..4 * i + 3] * m[i..i + 3])", "reverse m[i..i + 2]",
              "[m[i], m[4 * i + 1]]"],
    CUBE: ["m[i][1]", "m[i, 2]", "m[i][1..3][1]", "[ sum q | q in m[i] ]", "flatten m[i]", "m[i][.., 1]"],
    RAGGED: ["(fst m[i])", "(let (q, p) = m[i] in p * q)"],
}
NUMBER_OF_ROW = [
    "dot r r", "sum r", "{f} (sum r)", "r[0] * r[1]", "logsumexp r", "sum [ {e} | y in r ]", "sum (map (fun y -> {e}) r)",
    "(if r[0] > {c} then dot r r else {f} r[1])", "(let q = {c} * r in dot q r)", "dot r[1..] r[..length r - 1]", "helper r",
    "product r", "(let mut p = {c} in for k = 0 to length r - 1 do p <- {f} (p * r[k]) done; p)", "sum (r ++ r)",
    "(let mut q = r in q[0] <- {c} * q[1]; dot q r)", "fold (fun p y -> {f} (p + y)) {c} r", "norm r",
]
NUMBER_OF_NUMBER = ["{f} y", "y * y", "{c} * y", "exp (-y)", "(if y > {c} then {f} y else y)"]
WALKS = [
    "sum [ (let r = {S} in {R}) | i < {n} ]",
    "sum (map (fun i -> let r = {S} in {R}) [ i | i < {n} ])",
    "(let mut s = {c} in for i = 0 to {n} - 1 do (let r = {S} in s <- 0.5 * {f} s + {R}) done; s)",
    "(let mut s = {c} in for i = {n} - 1 downto 0 do (let r = {S} in s <- {f} (0.5 * s * {R})) done; s)",
    "(let mut s = {c} in let mut i = 0 in while i < {n} do (let r = {S} in s <- {f} s * {R}); i <- i + 1 done; s)",
    "(let rec go i = if i >= {n} then {c} else (let r = {S} in {R} + 0.9 * {f} (go (i + 1))) in go 0)",
    "(let rec go i s = if i >= {n} then s else (let r = {S} in go (i + 1) ({f} s + {R})) in go 0 {c})",
    "(let b = [ (let r = {S} in ({R}, {c} * r)) | i < {n} ] in sum [ (let (p, r) = q in p * {R}) | q in b ])",
    "(let g = [ (fun y -> y * tanh (let r = {S} in {R})) | i < {n} ] in let mut s = {c} in for k = 0 to length g - 1 do s <- {f} (g[k] s) done; s)",
    "(let g = [ (if i % 2 = 0 then (fun y -> (let r = {S} in y + {R})) else (fun y -> {f} y)) | i < {n} ] in sum [ h {c} | h in g ])",
    "(let mut s = 0.0 in for k = 0 to {n} - 1 do (if k % 3 = 1 then (let i = k in let r = {S} in s <- s + {R})) done; s)",
    "List.fold (fun s i -> (let r = {S} in {f} s + {R})) {c} (to_list [ i | i < {n} ])",
]
CARRIED = "(let i = 0 in let mut r = {c} * {S0} in for i = 0 to {n} - 1 do r <- 0.5 * r + 0.1 * {S0} done; {R})"
MADE = "(let b = [ (let r = {S0} in {c} * r) | i < {n} ] in let mut s = 0.0 in for k = 0 to length b - 1 do (let r = b[k] in s <- {f} s + {R}) done; s)"
# An inner loop reads the array that the outer one changes; a value of several cases may hold a part of it. {V0}: such a part.
READ_AND_CHANGED = ("(let mut b = m in let mut s = {c} in for i = 0 to {n} - 1 do (for k = 0 to i % 3 do (let r = {V0} in s <- {f} (s + 0.2 * {R})) done; "
                    "b[i] <- {c} * b[i]) done; s + sum (floats b))")
PERHAPS = ("(let mut b = m in let mut s = {c} in for i = 0 to {n} - 1 do (let k = i % 2 in let v = (if s > {c} then Some {V0} else None) in "
           "b[i] <- {c} * b[i]; s <- {f} (s + (match v with Some r -> {R} | None -> {c}))) done; s + sum (floats b))")
CARRIED_PART = ("(let mut b = m in let mut s = {c} in let mut v = {V1} in for i = 0 to {n} - 1 do (let k = i % 2 in b[i] <- {c} * b[i]; "
                "s <- {f} (s + (match v with Some r -> {R} | None -> {c})); v <- (if s > {c} then Some {V0} else None)) done; s + sum (floats b))")
LISTED_PARTS = ("(let mut b = m in let mut s = {c} in for i = 0 to {n} - 1 do (let k = i % 2 in let v = {V0} :: {V0} :: Nil in "
                "b[i] <- {c} * b[i]; s <- {f} (s + List.fold (fun z r -> z + {R}) 0.0 v)) done; s + sum (floats b))")
OF_KIND = {
    ROWS: [CARRIED, MADE, READ_AND_CHANGED, PERHAPS, CARRIED_PART, LISTED_PARTS, "sum [ {R} | r in m ]", "sum (map (fun r -> {R}) m)", "fold (fun s r -> {f} s + {R}) {c} m", "List.fold (fun s r -> {f} s + {R}) {c} (to_list m)",
           "sum [ dot r q | (r, q) in zip m m ]", "sum [ (let r = w @ p in {R}) | p in m ]",
           "(let mut b = m in for i = 1 to {n} - 1 do b[i] <- {c} * b[i] + 0.3 * b[i - 1] done; sum [ {R} | r in b ])",
           "(let mut b = m in for i = 0 to {n} - 1 do b[i] <- map {f} b[i] done; (let r = b[{n} - 1] in {R}))",
           "(let mut b = m in for i = 1 to {n} - 1 do b[i, 1] <- {f} (b[i - 1, 2] + b[i, 0]) done; sum [ {R} | r in b ])",
           "(let mut b = m in for i = 1 to {n} - 1 do (let r = b[i] in b[i, 1] <- {R}) done; sum [ {R} | r in b ])",
           "(let mut b = m in for i = 1 to {n} - 1 do (let p = b[i] in b[i] <- b[i - 1]; b[i - 1] <- 0.5 * p) done; sum [ {R} | r in b ])"],
    NUMBERS: [CARRIED, MADE, READ_AND_CHANGED, PERHAPS, CARRIED_PART, LISTED_PARTS, "(let mut b = m in for i = 1 to {n} - 1 do (let r = b[i..i + 3] in b[i] <- {R}) done; sum b)", "sum [ {e} | y in m ]",
              "(let mut b = m in let mut s = {c} in for i = 0 to {n} - 1 do (let r = (if b[i] > {c} then b[i..i + 3] else [{c}, 0.4]) in "
              "b[i] <- {f} b[i]; s <- {f} (s * {R})) done; s + b[0])",
              "(let mut b = m in for i = 2 to {n} - 1 do b[i] <- {f} (0.3 * b[i - 1] + b[i] * b[i - 2]) done; sum b)",
              "(let mut r = m in for k = 1 to 5 do r <- m * {f} (sum r / {n1}) done; sum r)",
              "(let mut r = m in for k = 1 to 5 do r <- [r[0]] ++ (m[1..] * r[..length r - 1]) done; sum r)"],
    CUBE: [CARRIED, MADE, "sum [ sum [ {R} | r in q ] | q in m ]", "sum [ (let r = q[1..3][0] in {R}) | q in m ]", "sum [ trace (q @ w3) | q in m ]",
           "(let mut b = m in for i = 1 to {n} - 1 do b[i] <- 0.5 * b[i - 1] + b[i] done; sum (flatten (flatten b)))",
           "(let mut b = m in for i = 1 to {n} - 1 do b[i, 1] <- {c} * b[i - 1, 2] done; sum [ (let r = q[1] in {R}) | q in b ])"],
    RAGGED: ["sum [ (let (r, p) = q in p * {R}) | q in m ]", "fold (fun s (r, p) -> {f} (s * p) + {R}) {c} m",
             "(let mut s = 0.0 in for i = 0 to {n} - 1 do (let (r, p) = m[i] in s <- {f} s + p * {R}) done; s)"],
}
# Recursion on an array v. Further holes: {E}, whether v is short enough to end with the number {L}; {L0}, such a number of its first {k}
# elements or rows; {J}, what goes on with parts of v; {M}, with arrays that are made.
ENDS = {ROWS: "length v <= 2", NUMBERS: "length v <= 6"}
LEAF = {ROWS: "(let r = v[0] in {R})", NUMBERS: "(let r = v in {R})"}
FIRST = {ROWS: "1", NUMBERS: "4"}
PART = {ROWS: ["b[i]", "b[(i + k) % length b]", "b[i..i + 1][0]"], NUMBERS: ["b[i..i + 2]", "b[i + k..i + k + 2]", "b[i..i + 2 + k][k..]"]}
PARTS = [
    "go v[..{k}] + 0.9 * {f} (go v[{k}..])", "{f} (go v[..length v / 2]) * go v[length v / 2..]",
    "sum [ {f} (go v[length v * k / 3..length v * (k + 1) / 3]) | k < 3 ]", "(if go v[..{k}] > {c} then go v[{k}..] else {f} (go v[{k}..]) * {c})",
    "(let q = v[{k}..] in go v[..{k}] * {f} (go q[..length q / 2] + {c} * go q[length q / 2..]))", "({L0} + 0.9 * {f} (go v[{k}..] * go v[..{k}]))",
    "(let mut s = {c} in for k = 0 to 1 do s <- {f} (s + go v[k * length v / 2..(k + 1) * length v / 2]) done; s)",
    "go [ {c} * x | x in v[..{k}] ] + {f} (go v[{k}..])",
    "(let q = (if length v % 3 = 0 then v[{k}..] else v[..length v - {k}]) in {f} (go q) + {c} * go v[..{k}])",
]
MADE_PARTS = [
    "go [ {f} (v[2 * i] * v[2 * i + 1]) | i < length v / 2 ]", "go (v[..length v / 2] * {c}) + {f} (go v[length v / 2..])",
    "go (map {f} v[{k}..])", "{f} (go (v[..length v / 2] + v[length v - length v / 2..]))",
    "go ([v[0] * {c}] ++ v[2..])",
]
RECURSIONS = [
    "(let rec go v = if {E} then {L} else {J} in go m)",
    "(let rec go v s = if {E} then s * {L} else (let go v = go v (0.5 + 0.4 * {f} s) in {J}) in go m {c})",
    "(let rec go v = if {E} then ({L}, {c}) else (let (p, q) = go v[..{k}] in let (s, z) = go v[{k}..] in ({f} (p + 0.9 * s), 0.5 * {f} (q * z + p))) in let (p, q) = go m in p + q)",
    "(let rec go v = if {E} then {L} else go v[..{k}] + 0.5 * {f} (other v[{k}..]) and other v = if {E} then {c} else {f} (other v[..{k}]) - go v[{k}..] in go m)",
    "(let rec go v w = if {E} then (let z = {L} in let v = w in z * {L}) else {f} (go v[..{k}] w[..{k}]) + 0.5 * {f} (go w[{k}..] v[{k}..]) in go m ([ {c} * x | x in m ]))",
]
OF_NUMBERS = [
    "(let rec go v = if {E} then {L} else {M} in go m)",
    "(let mut v = m in while not ({E}) do v <- [ {f} (v[2 * i] * v[2 * i + 1]) | i < length v / 2 ] done; {L})",
    "(let mut v = m in let mut s = {c} in while not ({E}) do s <- {f} s + {L0}; v <- v[{k}..] done; s)",
]

# Arrays in values of several cases. A holder: how an array x is put into one; of the match in which array a becomes b, by updates {U},
# the arms; those of one that makes a number of it. As a value is walked its case may change, and so may the array's length.
HOLDERS = [
    ("Some {x}", "Some a -> (let mut b = a in {U}; Some b) | None -> None", "Some a -> {L} | None -> {c}"),
    ("Ok {x}", "Ok a -> (let mut b = a in {U}; if i = 5 then Error b else Ok b) | Error a -> (let mut b = a in {U}; Ok b)",
     "Ok a -> {L} | Error a -> {f} {L}"),
    ("{x} :: Nil", "a :: rest -> (let mut b = a in {U}; b :: rest) | Nil -> Nil", "a :: _ -> {L} | Nil -> {c}"),
    ("Some (Some {x})", "Some (Some a) -> (let mut b = a in {U}; Some (Some b)) | _ -> Some None", "Some (Some a) -> {L} | _ -> {c}"),
    ("Some {x = {x}, p = {c}}", "Some q -> (let a = q.x in let mut b = a in {U}; Some {x = b, p = {f} q.p}) | None -> None",
     "Some q -> (let a = q.x in q.p * {L}) | None -> {c}"),
    ("One {x}", "One a -> (let mut b = a in {U}; if i % 3 = 0 then Two (b, {c}) else One b) "
                "| Two (a, p) -> (let mut b = a in {U}; if p < 0.1 then Cut b else Two (b, 0.5 * p)) "
                "| Cut a -> (if i % 4 = 1 && length a > 9 then One a[..length a / 2] else (let mut b = a in {U}; One b)) | Gone -> Gone",
     "One a -> {L} | Two (a, p) -> p * {L} | Cut a -> {f} {L} | Gone -> {c}"),
    ("One {x}", "One a -> (let mut b = a in {U}; if i < 9 then One (b ++ b[..1]) else One b) | Two (a, p) -> Two (a, p) | Cut a -> One a "
                "| Gone -> Gone", "One a -> {L} | Two (a, p) -> p * {L} | Cut a -> {L} | Gone -> {c}"),
]
UPDATES = {
    NUMBERS: ["b[k] <- {f} b[k]", "b[k] <- {c} * b[k] + 0.1 * b[0]", "(if b[k] > {c} then b[k] <- {f} b[k] else b[0] <- {c} * b[k])",
              "(for j = 0 to 1 do b[(k + j) % length b] <- {f} (b[k] + b[j]) done)", "b[k] += 0.1 * b[length b - 1 - k]",
              "(let r = b[k..min (k + 3) (length b)] in b[k] <- norm r)", "(let h = length b / 2 in b[k % h] <- {f} (b[k % h] * b[h]))"],
    ROWS: ["b[k] <- {c} * b[k]", "b[k, 1] <- {f} (b[k, 2] + b[0, 1])", "(let r = b[k] in b[k, 1] <- {R})",
           "(let r = b[k] in b[k] <- 0.5 * b[0] + 0.1 * r)"],
}
HELD = ["(let mut v = {V} in for i = 0 to {n} - 1 do v <- (match v with {A}) done; match v with {N})",
        "(let mut v = {V} in let mut i = 0 in while i < {n} do v <- (match v with {A}); i <- i + 1 done; match v with {N})",
        "(let mut v = {V} in for i = 0 to {n} - 1 do (if i % 3 < 2 then v <- (match v with {A})) done; match v with {N})",
        "(let rec go i v = if i >= {n} then (match v with {N}) else go (i + 1) (match v with {A}) in go 0 ({V}))",
        "(let step i v = (match v with {A}) in let mut v = {V} in for i = 0 to {n} - 1 do v <- step i v done; match v with {N})",
        "(match List.fold (fun v i -> (match v with {A})) ({V}) (to_list [ i | i < {n} ]) with {N})",
        "(let mut q = {p = {c}, v = {V}} in for i = 0 to {n} - 1 do q <- {p = {f} q.p, v = (match q.v with {A})} done; "
        "q.p + (match q.v with {N}))",
        "(let mut q = [ {V} | j < min 2 (length m) ] in for i = 0 to {n} - 1 do (let j = i % length q in q[j] <- (match q[j] with {A})) done; "
        "sum [ (match v with {N}) | v in q ])"]
PREAMBLE = """type 'a held = One of 'a | Two of ('a * float) | Cut of 'a | Gone
let helper (r : float[]) = if length r > 3 then dot r r else r[0] * sum r
let w = [ [ 0.1 * float (1 + (i + 2 * j) % 5) | j < 4 ] | i < 3 ]
let w3 = [ [ 0.1 * float (1 + (i + 2 * j) % 5) | j < 4 ] | i < 3 ]
"""


# Walks whose gradients were quadratic.
FOUND = [
    (ROWS, "sum [ dot r r | r in m ]"),
    (NUMBERS, "sum [ sin (sum m[4 * i..4 * i + 4]) | i < {n} ]"),
    (ROWS, "(let mut b = m in for i = 1 to {n} - 1 do b[i] <- b[i] + 0.5 * b[i - 1] done; sum [ dot r r | r in b ])"),
    (NUMBERS, "(let mut b = m in for i = 1 to {n} - 1 do (let r = b[i..i + 3] in b[i] <- norm r) done; sum b)"),
    (ROWS, "(let mut b = m in for i = 1 to {n} - 1 do (let p = b[i] in b[i] <- b[i - 1]; b[i - 1] <- 0.5 * p) done; sum [ sum r | r in b ])"),
    (NUMBERS, "(let rec go v = if length v <= 2 then sum v ^ 2 else go v[..2] + sin (go v[2..]) in go m)"),
    (ROWS, "(let rec go v = if length v <= 1 then dot v[0] v[0] else go v[..1] + sin (go v[1..]) in go m)"),
    (NUMBERS, "(let rec go v = if length v <= 6 then (let mut q = v in q[0] <- 0.7 * q[1]; dot q v) else go v[..4] + sin (go v[4..]) in go m)"),
    (NUMBERS, "(let mut v = Some m in for i = 0 to {n} - 1 do v <- (match v with Some a -> (let mut b = a in b[i] <- sin b[i]; Some b) "
              "| None -> None) done; match v with Some a -> a[0] | None -> 0.0)"),
    (NUMBERS, "(let mut b = m in let mut s = 0.5 in for i = 0 to {n} - 1 do (let r = (if b[i] > 0.1 then b[i..i + 3] else [0.4]) in "
              "b[i] <- sin b[i]; s <- sin (s * norm r)) done; s + b[0])"),
    (NUMBERS, "(let mut q = [ Some (Some m) | j < min 2 (length m) ] in for i = 0 to {n} - 1 do (let j = i % length q in q[j] <- (match q[j] "
              "with Some (Some a) -> (let mut b = a in b[i % length b] <- sin b[i % length b]; Some (Some b)) | _ -> Some None)) done; "
              "sum [ (match v with Some (Some a) -> sum a | _ -> 0.5) | v in q ])"),
    (NUMBERS, "(let mut b = m in let mut s = 0.5 in for i = 0 to {n} - 1 do (let r = (if b[i] > 0.4 then b[i..i + 3] else [0.4, 0.3]) in "
              "b[i] <- tanh b[i]; s <- atan (s * logsumexp r)) done; s + b[0])"),
    (NUMBERS, "(let mut b = m in let mut s = 0.5 in for i = 0 to {n} - 1 do (for k = 0 to i % 3 do s <- atan (s * b[i + k]) done; "
              "b[i] <- tanh b[i]) done; s + b[0])"),
    (NUMBERS, "(let mut b = m in let mut a = m in let mut s = 0.5 in for i = 0 to {n} - 1 do (a[i] <- sin (a[i] * s); "
              "for k = 0 to i % 3 do s <- atan (s * b[i + k] * a[k]) done; b[i] <- tanh b[i]) done; s + b[0])"),
    (NUMBERS, "(let mut b = m in let mut s = 0.5 in for i = 0 to {n} - 1 do (let r = (if b[i] > 0.4 then Some b[i..i + 3] else None) in "
              "b[i] <- tanh b[i]; s <- atan (s * (match r with Some r -> logsumexp r | None -> 1.0))) done; s + b[0])"),
    (NUMBERS, "(let mut b = m in let mut s = 0.5 in let mut r = m[..2] in for i = 0 to {n} - 1 do (b[i] <- tanh b[i] * logsumexp r; "
              "r <- b[i..i + 3]; s <- atan s) done; s + b[0])"),
    (NUMBERS, "(let mut b = m in let mut s = 0.5 in for i = 0 to {n} - 1 do (let v = b[i..i + 2] :: b[i + 1..i + 4] :: Nil in "
              "b[i] <- tanh b[i]; s <- atan (s * List.fold (fun z r -> z + logsumexp r) 0.0 v)) done; s + b[0])"),
    (CUBE, "(let mut b = m in for i = 1 to {n} - 1 do b[i] <- 0.5 * b[i - 1] + b[i] done; sum (flatten (flatten b)))"),
]


class Walk:
    """Program `number` of the walks of a seed, or (seed None) of those found."""

    def __init__(self, number, seed):
        self.number, self.rng = number, random.Random(f"walk {seed}/{number}")
        self.kind, body = FOUND[number] if seed is None else (self.rng.choice([ROWS, ROWS, NUMBERS, CUBE, RAGGED]), None)
        general, recursive = self.rng.random() < 0.6, self.kind in ENDS and self.rng.random() < 0.3
        if body is None and not recursive and self.kind in UPDATES and self.rng.random() < 0.4:
            body = self.held()
        texts = WALKS if general else OF_KIND[self.kind]
        if recursive:
            texts = RECURSIONS + (OF_NUMBERS if self.kind == NUMBERS else [])
        body = self.fill(body or self.rng.choice(texts))
        if seed is not None and self.rng.random() < 0.25:  # a second walk over the same array
            body += " + " + self.fill(self.rng.choice(WALKS + OF_KIND[self.kind]))
        type_, made = INPUTS[self.kind]
        k = number
        self.text = (f"let f{k} (m : {type_}) : float = {body}\nlet input{k} n = {self.fill(made)}\n"
                     f"let value{k} n = f{k} (input{k} n)\nlet gradient{k} n = sum (floats (grad f{k} (input{k} n)))\n"
                     f"let check{k} n = check_grad f{k} (input{k} n)\n")

    def save(self, seed):
        path = os.path.abspath(f"walk-{seed}-{self.number}.atl")
        with open(path, "w", encoding="utf-8") as f:
            f.write(PREAMBLE + self.text)
        return path

    def held(self):
        """A walk that updates an array in a value of several cases."""
        made, arms, number = self.rng.choice(HOLDERS)
        update = "(let k = i % length b in " + " ; ".join(self.rng.sample(UPDATES[self.kind], self.rng.choice([1, 1, 2]))) + ")"
        read = {NUMBERS: "(let r = a in {R})", ROWS: "(sum [ {R} | r in a ])"}[self.kind]
        parts = {"V": made.replace("{x}", "m"), "A": arms.replace("{U}", update), "N": number.replace("{L}", read)}
        return re.sub(r"\{([VAN])\}", lambda m: parts[m[1]], self.rng.choice(HELD))

    def steps(self):
        n = STEPS[self.kind]
        return f"({n.replace('length m', HIDDEN) if self.rng.random() < 0.3 else n})"

    def fill(self, text):
        def hole(m):
            choose = self.rng.choice
            return {"S": lambda: self.fill(choose(AT[self.kind])), "S0": lambda: AT[self.kind][0], "R": lambda: self.fill(choose(NUMBER_OF_ROW)),
                    "e": lambda: self.fill(choose(NUMBER_OF_NUMBER)), "f": lambda: choose(SMOOTH), "n": self.steps,
                    "n1": lambda: "float (length m)", "E": lambda: ENDS[self.kind], "L": lambda: self.fill(LEAF[self.kind]), "k": lambda: FIRST[self.kind],
                    "L0": lambda: self.fill(LEAF[self.kind].replace("= v in", "= v[..4] in")),
                    "J": lambda: self.fill(choose(PARTS)), "M": lambda: self.fill(choose(MADE_PARTS)), "V0": lambda: choose(PART[self.kind]), "V1": lambda: f"(if length m > 2 then Some {AT[self.kind][0].replace('i', '0')} else None)", "c": lambda: f"{self.rng.uniform(0.2, 0.9):.3f}17"}[m[1]]()
        return re.sub(r"\{(\w+)\}", hole, text)


def measure(exe, walks):
    """Of each walk, by name and size, value and bytes; or None and the error. The limit is of processor time, so that a busy
    machine finds nothing."""
    limit = 60 + 60 * len(walks)
    calls = [f"{name}{w.number}:{n}" for w in walks for name, n in
             (("check", FEW), ("check", CHECKED), ("value", SMALL), ("value", LARGE), ("gradient", SMALL), ("gradient", LARGE))]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "walks.atl")
        with open(path, "w", encoding="utf-8") as f:
            f.write(PREAMBLE + "".join(w.text for w in walks))
        try:
            r = subprocess.run([exe, path, *calls], capture_output=True, text=True, timeout=8 * limit,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 10)))
        except subprocess.TimeoutExpired:
            return None, "no end"
    rows = [line.split() for line in r.stdout.splitlines()]
    found = {(name, int(n)): (float(y), int(bytes_)) for name, n, y, bytes_ in rows}
    return (found, "") if r.returncode == 0 else (None, r.stderr or f"status {r.returncode}")


def problem(walk, found):
    """What is wrong with a walk, or None."""
    k = walk.number
    few, more = (found[f"check{k}", n][0] for n in (FEW, CHECKED))
    if not more < 1e-5 and not few < 1e-8:  # else it is chaotic: differences lose their digits step by step
        return f"differs from differences by {few} after {FEW} steps, {more} after {CHECKED}"
    bytes_ = {(name, n): found[f"{name}{k}", n][1] for name in ("value", "gradient") for n in (SMALL, LARGE)}
    growth = max(LARGE / SMALL, bytes_["value", LARGE] / max(1, bytes_["value", SMALL]))
    if bytes_["gradient", LARGE] > FASTER * growth * bytes_["gradient", SMALL] + MORE:
        return f"the gradient's bytes grow from {bytes_['gradient', SMALL]} to {bytes_['gradient', LARGE]}, its function's by {growth:.1f}"
    return None


def check(exe, walks):
    """(walk, what is wrong) of those that fail."""
    if not walks:
        return []
    found, error = measure(exe, walks)
    if found is None:
        if len(walks) == 1:
            return [(walks[0], error.strip())]
        half = len(walks) // 2
        return check(exe, walks[:half]) + check(exe, walks[half:])
    wrong = [(w, problem(w, found)) for w in walks]
    return [(w, text) for w, text in wrong if text]


def batches_of(seed, first, count, end):
    """The walks found before, then those of the seed, five at a time: `count` of them, or until the time `end`."""
    yield [Walk(k, None) for k in range(len(FOUND))]
    for k in itertools.count(first, 5) if end else range(first, first + count, 5):
        if end and time.time() > end:
            return
        yield [Walk(j, seed) for j in range(k, k + 5 if end else min(k + 5, first + count))]


def main():
    """usage: walks.py COST_EXE [PROGRAMS | --seconds=N] [SEED] [FIRST]: walks alone, those found before first."""
    exe, amount, seed, first = (sys.argv[1:] + ["20", "1", "0"][len(sys.argv) - 2:])[:4]
    seconds = float(amount[len("--seconds="):]) if amount.startswith("--seconds=") else None
    end = seconds and time.time() + seconds
    done, bad = 0, 0
    for batch in batches_of(int(seed), int(first), 0 if end else int(amount), end):
        done += len(batch)
        for w, text in check(exe, batch):
            bad += 1
            print(f"walk {w.number}: {text[:600]}\n{w.text}", flush=True)
    print(f"{done} walks ({len(FOUND)} found before), seed {seed}: {bad} differences")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
