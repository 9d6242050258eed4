#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Effects before an error are seen, and none behind it: for each construct that can fail.

usage: test_effects.py EXE

A row is an expression of type float that fails when all its operands have been evaluated. {0:x} is operand x, which prints
its number first. Each row is evaluated with values that aren't known when it is compiled, and with known ones, and its
derivative is taken in both modes: each time all numbers are printed, in order, and nothing that stands behind it. Then one
operand after the other fails itself: only its number and those before it are printed. A row stands in a program of its own in the evaluator;
machine code runs all of them in one program, each in an attempt."""
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

EXE = os.path.abspath(sys.argv[1])
PRELUDE = '''let fails_at (k : int) : float = if k = 0 then fail "fails_at" else 1.0
let fails (k : int) (x : float) : float = if k = 0 then fail "fails" else x
let fails_unit () : float = fail "fails_unit"
let rec fails_deep n (k : int) : float = if n = 0 then 1.0 / float (1 / k) else fails_deep (n - 1) k
let whole s = match int_of_string s with Some n -> n | None -> fail "no int"
'''
VALUES = {"a": ("float[]", "[1.0, 2.0]"), "m": ("float[][]", "[[1.0, 2.0], [3.0, 4.0]]"), "k": ("int", "0")}  # by the last word of a row
ROWS = '''
a[{0:5}] | a
m[{0:0}, {1:7}] | m
m[{0:7}, {1:0}] | m
({0:a})[{1:5}] | a
({0:a})[5] | a
sum a[..{0:7}] | a
sum a[{0:7}..] | a
sum a[{0:1}..{1:7}] | a
sum m[.., {0:7}] | m
sum ({0:a})[1..9] | a
float ({0:1} / k) | k
float ({0:1} / {1:k}) | k
float (1 / {0:k}) | k
float ({0:1} % k) | k
float ({0:1} % {1:k}) | k
float ({0:2} ^ (k - 1)) | k
float (2 ^ {0:(k - 1)}) | k
sum ([1.0, {0:2.0}, 3.0] + a) | a
sum (a + [1.0, {0:2.0}, 3.0]) | a
sum ({0:a} - [1.0]) | a
List.sum (to_list ({0:a}) + (1.0 :: Nil)) | a
(match {0:(Some 1.0)} + None with Some x -> x | None -> a[0]) | a
sum (flatten (m + {0:[[1.0]]})) | m
dot [1.0, {0:2.0}, 3.0] a | a
dot a {0:[1.0]} | a
a @ {0:[1.0]} | a
sum (flatten (m @ {0:[[1.0]]})) | m
sum (m @ {0:[1.0]}) | m
sum ({0:[1.0]} @ m) | m
sum (flatten [a, {0:[1.0]}]) | a
sum (flatten (m ++ {0:[[1.0]]})) | m
sum [ a[{0:5}] | i < 2 ] | a
(match {0:a} with [x] -> x) | a
(match {0:(if k = 0 then None else Some 1.0)} with Some x -> x) | k
(match k with 0 when {0:false} -> 1.0 | x when {1:false} -> 2.0) | k
(let [x] = {0:a} in x) | a
(let (Some x) = {0:(if k = 0 then None else Some 1.0)} in x) | k
((fun [x] -> x) {0:a}) | a
fails k {0:2.0} | k
fails {0:k} 2.0 | k
fails {0:k} {1:2.0} | k
fails_unit {0:()} | k
fails_deep {0:3} {1:k} | k
(Bench.opaque fails) {0:k} {1:2.0} | k
({0:fails k}) {1:2.0} | k
(fail {0:"no"} : float) | k
(fail $"no {{0:1}}" : float) | k
(assert {0:(k > 0)}; 1.0) | k
List.hd {0:Nil} | k
Option.get {0:None} | k
{0:k} |> (fun x -> fails x 1.0) | k
{0:k} |> {1:fails_at} | k
{0:fails_at} <| {1:k} | k
({0:fails_at} >> {1:sin}) {2:k} | k
sum (zeros {0:(k - 1)}) | k
sum (flatten (reshape [5, 5] {0:a})) | a
sum (flatten (reshape [{0:5}, {1:5}] a)) | a
sum (map2 (fun x y -> x * y) a {0:[1.0]}) | a
sum (map2 {0:(fun x y -> x * y)} a [1.0]) | a
float (length (zip a {0:[1.0]})) | a
maximum {0:a[2..]} | a
float (Str.length (Str.sub {0:"abc"} {1:7} 2)) | k
float (Str.length (Str.sub (show a) {0:900} {1:4})) | a
float (Str.length (Str.replace {0:""} "a" "b")) | k
(if Regex.test {0:"("} {1:"b"} then 1.0 else 2.0) | k
(if {0:true} && a[{1:5}] > 0.0 then 1.0 else 2.0) | a
(if {0:false} || a[{1:5}] > 0.0 then 1.0 else 2.0) | a
(if a[{0:5}] > 0.0 then 1.0 else 2.0) | a
(if {0:(k = 0)} then fails_at k else 2.0) | k
-a[{0:5}] | a
fst (a[{0:5}], 1.0) | a
{x = a[{0:5}], y = 1.0}.x | a
sum [a[{0:5}], 1.0] | a
List.sum (a[{0:5}] :: Nil) | a
(let mut s = 0.0 in for i = 0 to int a[{0:5}] do s += 1.0 done; s) | a
(let mut s = 0.0 in for i = {0:0} to {1:3} do s += a[i] done; s) | a
(let mut s = 0.0 in while a[{0:5}] > s do s += 1.0 done; s) | a
(let mut b = a in b[{0:5}] <- {1:2.0}; sum b) | a
(let mut b = a in b[5] <- {0:2.0}; sum b) | a
(let mut b = a in b[{0:5}] += {1:2.0}; sum b) | a
(let mut b = m in b[{0:0}, {1:5}] <- {2:2.0}; sum (flatten b)) | m
(let mut b = m in b[0] <- {0:[1.0, 2.0, 3.0]}; sum (flatten b)) | m
(let mut r = {b = m} in r.b[{0:5}][{1:0}] <- {2:2.0}; sum (flatten r.b)) | m
(let mut r = [{b = [1.0]}] in r[{0:0}].b[{1:3}] <- {2:2.0}; r[0].b[0]) | k
(let mut b = [1] in b[{0:0}] /= {1:k}; float b[0]) | k
(let mut b = 1 in b /= {0:k}; float b) | k
float (whole {0:"x"}) | k
sum (scan (fun s x -> s + a[{0:5}]) 0.0 [1.0]) | a
inner {0:a} {1:[1.0]} | a
sum (with_floats {0:a} {1:[1.0]}) | a
sum (map_floats2 (fun x y -> x) {0:a} {1:[1.0]}) | a
grad (fun x -> x * a[5]) {0:1.0} | a
(let (y, back) = vjp (fun v -> 2.0 * v) a in sum (back {0:[1.0]})) | a
sum (snd (jvp (fun v -> 2.0 * v) a {0:[1.0]})) | a
(match attempt (fun () -> a[{0:5}]) with Ok y -> y | Error e -> fail e.message) | a
checkpoint (fun v -> v[5]) {0:a} | a
sum (transpose [a, {0:[1.0]}])[0] | a
(match Json.parse {0:"[1"} with Json.Number x -> x) | k
List.nth (1.0 :: Nil) {0:7} | k
'''
# Nothing here fails by itself.
OTHERS = '''
(match ({0:1.0}, {1:2.0}, {2:3.0}) with (a, b, c) -> a + b + c) | k
{0:1.0} + {1:2.0} * {2:3.0} | k
sum [{0:1.0}, {1:2.0}, {2:3.0}] | k
sum (flatten [{0:[1.0]}, {1:[2.0]}, {2:[3.0]}]) | k
(let r = {a = {0:1.0}, c = {1:2.0}, b = {2:3.0}} in r.a + r.b + r.c) | k
(let g (a : float) (b : float) (c : float) = a + b + c in g {0:1.0} {1:2.0} {2:3.0}) | k
(let mut a = m in a[{0:0}, {1:1}] <- {2:2.0}; sum (flatten a)) | m
List.sum ({0:1.0} :: {1:2.0} :: {2:3.0} :: Nil) | k
sum ({0:[1.0]} ++ {1:[2.0]} ++ {2:[3.0]}) | k
float (Str.length ({0:"a"} ++ {1:"b"} ++ {2:"c"})) | k
(let y = {0:1.0} in let z = {1:2.0} in let w = {2:3.0} in w + z * y) | k
(let mut y = {0:1.0} in y <- y + {1:2.0}; y *= {2:3.0}; y) | k
(if {0:true} then {1:2.0} + {2:3.0} else 1.0) | k
(match {0:1} with 1 when {1:true} -> {2:3.0} | _ -> 0.0) | k
(let mut y = {0:1.0} in for i = {1:0} to {2:0} do y += 1.0 done; y) | k
sum ({0:a})[{1:0}..{2:1}] | a
{0:1.0} |> {1:sin} |> {2:cos} | k
float (Str.length $"{{0:1}} {{1:2}} {{2:3}}") | k
(if {0:true} && {1:true} && {2:true} then 1.0 else 2.0) | k
'''
HOLE = re.compile(r"\{(\d):((?:[^{}]|\{[^{}]*\})*?)\}")


def cases():
    """(name, definition of a function of the row's value, call of it, numbers to be printed)"""
    for row, at in [(r, "") for r in ROWS.strip().splitlines()] + [(r, str(j)) for r in (ROWS + OTHERS).strip().splitlines()
                                                                     for j in range(len(HOLE.findall(r)))]:
        text, value = row.rsplit(" | ", 1)
        def operand(m):
            return f'(print {m[1]}; fail "here")' if m[1] == at else f"(print {m[1]}; {m[2]})"
        expression, numbers = HOLE.sub(operand, text), [int(m[1]) for m in HOLE.finditer(text)]
        printed, (t, known) = [n for n in sorted(numbers) if not at or n <= int(at)], VALUES[value]
        name = f"{text} {'where ' + at + ' fails' if at else ''}"
        yield name, f"let fK ({value} : {t}) : float = let r = {expression} in (print 99; r)", f"fK (Bench.opaque {known})", printed
        if not at:
            yield name + " known", f"let fK ({value} : {t}) : float = {expression}", f"fK {known}", printed
        for mode in ("grad", "deriv"):
            yield f"{name} {mode}", f"let fK ({value} : {t}) (z : float) : float = z * ({expression})", \
                f"{mode} (fK (Bench.opaque {known})) 2.0", printed


def run(text, *options):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "effects.atl")
        with open(path, "w", encoding="utf-8") as f:
            f.write(PRELUDE + text)
        r = subprocess.run([EXE, *options, path], capture_output=True, text=True, timeout=300, cwd=folder)
        return r.returncode, r.stdout.split(), r.stderr


def alone(case):
    name, definition, call, printed = case
    status, out, err = run(f"{definition}\nprint ({call})\n".replace("fK", "f"), "--jit=off")
    good = status == 70 and out == [str(n) for n in printed]
    return None if good else f"{name}: status {status}, printed {out}, expected {printed}: {err.strip()[:300]}"


def together(all_cases):
    """Problems of machine code, each case in an attempt."""
    text = "".join(f'{d}\nprint (match attempt (fun () -> {c}) with Ok _ -> "ok" | Error _ -> "error")\n'.replace("fK", f"f{k}")
                   for k, (_, d, c, _) in enumerate(all_cases))
    status, out, err = run(text, "--jit=always")
    if status != 0:
        return [f"machine code: status {status}: {err.strip()[:500]}"]
    problems, at = [], 0
    for name, _, _, printed in all_cases:
        end = min([k for k in range(at, len(out)) if out[k] in ("ok", "error")] + [len(out) - 1])
        if out[at:end + 1] != [*map(str, printed), "error"]:
            problems.append(f"machine code: {name}: printed {out[at:end + 1]}, expected {printed}")
        at = end + 1
    return problems


def main():
    os.environ.update(ATLED_OPT="0", ATLED_CACHE="")
    all_cases = list(cases())
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        batches = [pool.submit(together, all_cases[k::6]) for k in range(6)]
        problems = [p for p in pool.map(alone, all_cases) if p]
        problems += [p for b in batches for p in b.result()]
    print("\n".join(problems + [f"{len(all_cases)} cases, {len(problems)} wrong"]))
    sys.exit(1 if problems else 0)


main()
