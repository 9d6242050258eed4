#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Loops that run several iterations at once print what the evaluator prints, to the last digit, at every level of processors
and with ATLED_LANES=off: templates of loops of 0 to 40 iterations with every operation that has lanes, and their gradients. GCC takes most of the
time, and what has lanes is decided before it: -O0, a third of the time of -O1, but -O1 for the widest.

usage: test_lanes.py ATLED [PROGRAM…]   the programs given are compared in the same way"""
import os
import re
import subprocess
import sys
import tempfile

exe = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
wrong = []

FUNCTIONS = ["cbrt", "exp", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
             "asinh", "acosh", "atanh", "erf", "erfc", "abs", "sqrt", "floor", "ceil", "trunc", "sign"]
EXPRESSIONS = [f"{name} x" for name in FUNCTIONS] + [
    "x + y", "x - y", "x * y", "x / y", "-x", "min x y", "max x y", "x ** y", "atan2 x y", "hypot x y", "x * y + z", "x * y - z", "z - x * y",
    "if x < y then x else z", "if x <= y && not (y = z) then y else x * 2.0", "if x <> y || x > z then z else -y", "if is_nan x then 1.0 else x",
    "x * c", "c - x", "if c < x then c else y", "sin x * cos x", "x ^ 5", "float i * x", "float (i + 3) - y", "float (7 - i)", "1.5",
    "sin c + cos x", "exp (700.0 + x)", "exp (x * 300.0)", "sinh (x * 300.0)", "log1p (x * 1e305)", "tan (x * 4e-323)", "if c < 0.0 then x else y"]
VALUES = ["0.1 + 0.37 * float k", "-2.5 + 0.61 * float k", "1.0 / (float k - 3.0)", "(float k - 5.0) * 1e-310",
          "[0.0, -0.0, 1.0 / 0.0, -1.0 / 0.0, 0.0 / 0.0, 1.0, -1.0, 5e-324, 1.7e308, 0.5][k % 10]"]


def template():
    """For each expression its values and their sum, for each length and kind of values."""
    lines = [f"let values{number} (n : int) (s : int) = [ (let k = i + s in {values}) | i < n ]" for number, values in enumerate(VALUES)]
    lines += ["let lengths = [0, 1, 3, 4, 7, 8, 9, 15, 16, 17, 23, 32, 40]",
              'let show (v : float[]) = print (v, [ 1.0 / x < 0.0 | x in v ])']
    for number, e in enumerate(EXPRESSIONS):
        lines += [f"let map{number} (xs : float[]) (ys : float[]) (zs : float[]) (c : float) = "
                  f"[ (let (x, y, z) = (xs[i], ys[i], zs[i]) in {e}) | i < length xs ]",
                  f"let sum{number} (xs : float[]) (ys : float[]) (zs : float[]) (c : float) = "
                  f"sum [ (let (x, y, z) = (xs[i], ys[i], zs[i]) in ({e}) * y) | i < length xs ]"]
    lines += ["let all (xs : float[]) (ys : float[]) (zs : float[]) (c : float) = ("]
    for number, e in enumerate(EXPRESSIONS):
        lines += [f"  show (map{number} xs ys zs c); print (sum{number} xs ys zs c);"]
    lines += ["  ())", "for n in lengths do ("]
    lines += [f"  all (values{number} n 0) (values{number} n 1) (values{number} n 7) (values{number} 1 (n % 5))[0];" for number in range(len(VALUES))]
    lines += ["  ()) done"]
    return "\n".join(lines) + "\n"


SHAPES = """
type point = {x : float, y : float}
type weight = {a : float, b : float, c : float}
let n = 27 + length args
let v = [ 0.5 + 0.25 * float i | i < n ]
let ps = [ {x = float i * 0.5, y = 1.0 / float (i + 1)} | i < n ]
let qs = [ {a = sin (float i), b = float i, c = 0.5} | i < n ]
let norms = [ sqrt (p.x * p.x + p.y * p.y) | p in ps ]
let moved = [ {x = p.x + 0.1, y = p.y * p.x} | p in ps ]
let weights = sum [ q.a * q.b + q.c | q in qs ]
print norms
print (sum [ p.x * p.y | p in moved ])
print weights
print (grad (fun (qs : weight[]) -> sum [ q.a * q.b + exp q.c | q in qs ]) qs)
let smooth (u : float[]) = [ u[i] * 2.0 - u[i + 1] - u[i + 2] | i < length u - 2 ]
print (smooth v)
print (grad (fun u -> sum [ x * x | x in smooth u ]) v)
let m = [ [ sin (float (i * 3 + j)) | j < 11 ] | i < 9 ]
let rows (m : float[][]) (w : float[]) = [ tanh (dot r w + 0.1) | r in m ]
print (rows m (v[..11]))
print (grad (fun m -> sum (rows m (v[..11]))) m)
print (hessian (fun w -> sum (rows m w)) (v[..11]))
let update (u : float[]) = (let mut w = u in (for i = 0 to length u - 1 do w[i] <- w[i] * 0.5 + u[i] done; w))
print (update v)
print (grad (fun u -> sum (update u)) v)
let shift (u : float[]) = (let mut w = u in (for i = 0 to length u - 2 do w[i] <- w[i + 1] * 0.5 done; w))
print (shift v)
let carry (u : float[]) = (let mut w = u in (for i = 1 to length u - 1 do w[i] <- w[i - 1] * 0.5 + w[i] done; w))
print (carry v)
print (grad (fun u -> sum (carry u)) v)
let logsumexp (u : float[]) = (let m = maximum u in m + log (sum [ exp (x - m) | x in u ]))
print (logsumexp v, grad logsumexp v)
let pairs (u : float[]) = sum [ sum [ 1.0 / (0.1 + abs (u[i] - u[j])) | j < i ] | i < length u ]
print (pairs v, grad pairs v)
let counted = [ float i * 0.1 | i < n ]
print counted
print (sum [ v[i] * float i | i < n ])
print (mean v, dot v v, norm v)
"""

# Ints, places that don't count, additions to places, and loops with loops in them. Each function is called with lengths 0 to 40.
NESTS = """
type point = {x : float, y : float, z : float}
let make (n : int) (s : int) = [ sin (float (i * i + s)) | i < n ]
let matrix (n : int) (m : int) (s : int) = [ [ sin (float (i * m * 3 + j * 7 + s)) | j < m ] | i < n ]
let column (a : float[][]) (k : int) = [ r[k] * 2.0 | r in a ]
let column_sum (a : float[][]) (k : int) = sum [ a[i, k] * a[i, 0] | i < length a ]
let transposed (a : float[][]) = [ [ a[i, j] | i < length a ] | j < 3 ]
let gathered (v : float[]) (is : int[]) = [ v[i] + 1.0 | i in is ]
let gathered_sum (v : float[]) (is : int[]) = sum [ v[is[k]] * float k | k < length is ]
let ratings (u : float[], v : float[]) (is : int[]) = sum [ (u[is[k]] * v[(k * 3) % 5] - 0.5) ^ 2 | k < length is ]
let numbers (n : int) = [ (let k = i * 7 - 11 in if k % 3 = 0 then k / 2 else if k < 5 || i = 9 then -k else min k (max i 4)) | i < n ]
let flags (n : int) = [ i % 3 = 1 || i > 12 | i < n ]
let chosen (v : float[]) (c : bool[]) = sum [ if c[i] then v[i] else float (i / 2) | i < length v ]
let floors (v : float[]) = [ int (x * 10.0) | x in v ]
let counted (n : int) = sum [ float (i * i - 3 * i) | i < n ]
let logical (n : int) = [ bit_xor (i * 2654435761) (bit_and i 12) | i < n ]
let edges (v : float[]) (m : int) = [ if i = 0 || i = length v - 1 then v[i] else v[i] * 0.5 + v[(i + m) % length v] | i < length v ]
let polynomial (c : float[]) (v : float[]) = sum [ (let mut s = 0.0 in (for k = length c - 1 downto 0 do s <- s * x + c[k] done; s * s)) | x in v ]
let values (c : float[]) (v : float[]) = [ (let mut s = 0.0 in (for k = 0 to length c - 1 do s <- s * x + c[k] done; s)) | x in v ]
let paths (a : float[][]) (m : float) (s : float) = sum [ (let mut p = 1.0 in let mut t = 0.0 in (for j = 0 to length z - 1 do p <- p * exp (m + s * z[j]); t <- t + p done; max 0.0 (t - 1.0))) | z in a ]
let distances (a : float[][]) (c : float[][]) = sum [ log (sum [ exp (-sum [ (p[d] - q[d]) ^ 2 | d < 3 ]) | q in c ] + 1e-3) | p in a ]
let soft (t : float[][]) (v : float[]) = [ (let m = maximum [ v[i] + t[i, j] | i < length v ] in m + log (sum [ exp (v[i] + t[i, j] - m) | i < length v ])) | j < length v ]
let rows (a : float[][]) (v : float[]) = [ tanh (sum [ r[k] * v[k] | k < length r ]) | r in a ]
let by_columns (a : float[][]) (v : float[]) (n : int) = [ tanh (sum [ a[k, j] * v[k] | k < length a ]) | j < n ]
let pairs (ps : point[]) =
  let mut e = 0.0 in
  for i = 0 to length ps - 1 do
    for j = 0 to i - 1 do
      let (p, q) = (ps[i], ps[j]) in
      e <- e + 1.0 / (0.1 + (p.x - q.x) ^ 2 + (p.y - q.y) ^ 2 + (p.z - q.z) ^ 2)
    done
  done;
  e
let histogram (v : float[]) (is : int[]) = (let mut h = [ 0.0 | i < 7 ] in (for k = 0 to length is - 1 do h[is[k] % 7] <- h[is[k] % 7] + v[is[k]] done; h))
let twice (v : float[]) (is : int[]) = (let mut h = [ 0.5 | i < 7 ] in (for k = 0 to length is - 1 do (h[is[k] % 7] <- h[is[k] % 7] + v[is[k]]; h[k % 5] <- h[k % 5] - 0.3 * v[is[k]]) done; h))
let lost (v : float[]) = (let mut h = [ 0.5 | i < 9 ] in (for k = 0 to length v - 1 do (let (a, b) = (h[k % 5], h[k % 3]) in (h[k % 5] <- a + v[k]; h[k % 3] <- b + 2.0 * v[k])) done; h))
let scaled (v : float[]) (n : int) = (let mut w = v in (for i = 0 to length v - 1 do (for j = 0 to n - 1 do w[i] <- w[i] * 0.5 + v[j] done) done; w))
let convolved (w : float[]) (v : float[]) = [ sum [ w[k] * v[i + k] | k < length w ] | i < length v - length w + 1 ]
let heat (k : float) (u : float[][]) (m : int) = [ [ if i = 0 || j = 0 || i = length u - 1 || j = m - 1 then u[i, j] else u[i, j] + k * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j]) | j < m ] | i < length u ]
let chosen_rows (v : float[]) (n : int) = [ (let mut s = 0.0 in (for j = 0 to length v - 1 do (if i % 2 = 0 then s <- s + v[j] * v[j] else s <- s - v[j]) done; s)) | i < n ]
let downwards (v : float[]) (is : int[]) = (let mut h = [ 0.25 | i < 6 ] in let mut w = v in (for k = length is - 1 downto 0 do (w[k] <- w[k] * 2.0 + float k; h[is[k] % 6] <- h[is[k] % 6] + v[is[k]] * 0.1) done; (h, w)))
let nearby (v : float[]) = (let mut w = [ 0.5 | i < length v + 2 ] in (for i = length v - 1 downto 0 do (w[i] <- w[i] + v[i]; w[i + 1] <- w[i + 1] + 0.1 * v[i]; w[i + 2] <- w[i + 2] - 0.3) done; w))
let nearby_up (v : float[]) = (let mut w = [ 0.5 | i < length v + 2 ] in (for i = 0 to length v - 1 do (w[i] <- w[i] + v[i]; w[i + 1] <- w[i + 1] + 0.1 * v[i]; w[i + 2] <- w[i + 2] - 0.3) done; w))
let product (a : float[]) (b : float[]) = (let mut w = [ 0.0 | i < length a + length b ] in (for i = 0 to length a - 1 do for j = 0 to length b - 1 do w[i + j] <- w[i + j] + a[i] * b[j] done done; w))
let last (a : float[]) (b : float[]) = (let mut w = [ 0.0 | i < length a + length b ] in (for i = 0 to length a - 1 do for j = 0 to length b - 1 do w[i + j] <- a[i] * b[j] + float j done done; w))
let spread (a : float[]) (b : float[]) = (let mut w = [ 0.0 | i < 2 * length a + length b ] in (for i = 0 to length a - 1 do for j = 0 to length b - 1 do w[2 * i + j] <- w[2 * i + j] * 0.5 + a[i] * b[j] done done; w))
let shifted (v : float[]) (h : int) = (let mut w = v ++ v in (for i = 0 to length v - 1 do (w[i + h] <- w[i] * 0.5 + float i; w[i] <- w[i + h] - v[i]) done; w))
let butterfly (v : float[]) (h : int) = (let mut w = [ 0.0 | i < 2 * length v + h ] in (for i = 0 to length v - 1 do (w[i] <- v[i] + 1.0; w[i + h] <- v[i] - 1.0; w[h - 1 - i + length v] <- 2.0 * v[i]) done; w))
let eliminated (a : float[][]) =
  let n = length a in
  let mut u = [ [ a[i, j] + (if i = j then 3.0 else 0.0) | j < n ] | i < n ] in
  for k = 0 to n - 1 do
    for i = k + 1 to n - 1 do
      u[i, k] <- u[i, k] / u[k, k];
      for j = k + 1 to n - 1 do u[i, j] <- u[i, j] - u[i, k] * u[k, j] done
    done
  done;
  u
let shortest (a : float[][]) = (let n = length a in let mut d = a in (for k = 0 to n - 1 do for i = 0 to n - 1 do for j = 0 to n - 1 do d[i, j] <- min d[i, j] (d[i, k] + d[k, j]) done done done; d))
let by_row (a : float[][]) (m : int) = (let mut d = a in (for k = 1 to m - 1 do for j = 0 to length a - 1 do d[j, k] <- d[j, k - 1] * 0.5 + d[j, m - k] done done; d))
let smoothed (v : float[]) = (let n = length v in [v[0]] ++ (v[1..n - 1] + 0.2 * (v[..n - 2] - 2.0 * v[1..n - 1] + v[2..])) ++ [v[n - 1]])
let smooth (v : float[]) = (let n = length v in [ if i = 0 || i = n - 1 then v[i] else v[i] + 0.2 * (v[i - 1] - 2.0 * v[i] + v[i + 1]) | i < n ])
let twice_of (f : float[] -> float[]) (v : float[]) = sum [ x * x | x in f (f v) ]
let norms (ps : point[]) = [ sqrt (p.x * p.x + p.y * p.y + p.z * p.z) | p in ps ]
let turned (ps : point[]) = [ {x = p.y, y = -p.x, z = p.z * 2.0} | p in ps ]
let total (ps : point[]) = sum [ p.x * p.y + p.z * float i | (p, i) in [ (ps[i], i) | i < length ps ] ]
let all (n : int) (m : int) = (
  let v = make n 1 in let a = matrix n 3 2 in let is = [ (i * 5 + 2) % n | i < n ] in let w = make (min m n) 4 in
  let ps = [ {x = sin (float i), y = cos (float (i * i)), z = float i * 0.3} | i < n ] in
  print (column a 1, column_sum a 2, grad (fun a -> column_sum a 2 + sum (column a 1)) a);
  print (transposed a, grad (fun a -> sum [ sum [ x * x | x in r ] | r in transposed a ]) a);
  print (gathered v is, gathered_sum v is, grad (fun v -> gathered_sum v is + sum (gathered v is)) v);
  print (ratings (v, [1.0, 2.0, 3.0, 4.0, 5.0]) is, grad (fun u -> ratings u is) (v, [1.0, 2.0, 3.0, 4.0, 5.0]));
  print (numbers n, flags n, chosen v (flags n), grad (fun v -> chosen v (flags n)) v, floors v, counted n, logical n);
  (if n > 0 then print (edges v m, grad (fun v -> sum [ x * x | x in edges v m ]) v));
  print (polynomial w v, grad (fun w -> polynomial w v) w, grad (polynomial w) v, hessian (fun w -> polynomial w v) w);
  print (values w v, grad (fun w -> sum (values w v)) w);
  print (let z = matrix n m 5 in (paths z 0.01 0.1, grad (fun (m, s) -> paths z m s) (0.01, 0.1), grad (fun z -> paths z 0.01 0.1) z));
  print (let c = matrix m 3 6 in (distances a c, grad (fun c -> distances a c) c, grad (fun a -> distances a c) a));
  (if m > 0 then print (let t = matrix m m 3 in (soft t (make m 2), grad (fun t -> sum (soft t (make m 2))) t, grad (fun v -> sum (soft t v)) (make m 2))));
  print (let b = matrix n m 3 in (rows b (make m 1), grad (fun b -> sum (rows b (make m 1))) b, grad (fun x -> sum (rows b x)) (make m 1)));
  print (let b = matrix m n 3 in (by_columns b (make m 1) n, grad (fun b -> sum (by_columns b (make m 1) n)) b));
  print (pairs ps, grad pairs ps);
  print (histogram v is, twice v is, lost v, grad (fun v -> sum [ x * x | x in twice v is ]) v, grad (fun v -> sum [ x * x | x in lost v ]) v);
  (if m > 0 then print (let u = matrix n m 4 in (heat 0.1 u m, grad (fun (k, u) -> sum [ sum [ x * x | x in r ] | r in heat k u m ]) (0.1, u))));
  print (chosen_rows v m, grad (fun v -> sum (chosen_rows v m)) v);
  print (downwards v is, grad (fun v -> (let (h, w) = downwards v is in sum [ x * x | x in h ] + sum [ x * x | x in w ])) v);
  print (nearby v, nearby_up v, grad (fun v -> sum [ x * x | x in nearby v ] + sum [ x * x | x in nearby_up v ]) v);
  print (product v w, last v w, spread v w, grad (fun (v, w) -> sum [ x * x | x in product v w ] + sum [ x * x | x in last v w ] + sum [ x * x | x in spread v w ]) (v, w));
  (if n > 0 then print (shifted v (m % n), butterfly v (m % n), butterfly v n, grad (fun v -> sum [ x * x | x in shifted v (m % n) ] + sum [ x * x | x in butterfly v (m % n) ]) v));
  (if n < 20 then print (let a = matrix n n 5 in (eliminated a, shortest a, grad (fun a -> sum [ sum [ x * x | x in r ] | r in eliminated a ] + sum [ sum r | r in shortest a ]) a)));
  (if m > 1 then print (let a = matrix n m 3 in (by_row a m, grad (fun a -> sum [ sum [ x * x | x in r ] | r in by_row a m ]) a)));
  (if n > 2 then print (smoothed v, smoothed v ~= smooth v, grad (twice_of smoothed) v ~= grad (twice_of smooth) v, grad (twice_of smoothed) v));
  print (scaled v (min m n), grad (fun v -> sum (scaled v (min m n))) v);
  print (convolved w v, grad (fun (w, v) -> sum [ x * x | x in convolved w v ]) (w, v));
  print (norms ps, turned ps, total ps, grad (fun ps -> sum (norms ps) + total (turned ps)) ps))
for n in [0, 1, 3, 7, 8, 9, 16, 19, 40] do (all n 2; all n 5; all n 8; all n 11) done
"""

# Sums over samples whose gradients add to elements of w, by index: sixteen iterations run at once, or eight where an iteration adds to an element
# twice, or to places that fall. In the last one samples differ at a branch, and run one by one.
PLACES = ["i * (i - 1) / 2 + j", "(i * (i - 1) / 2 + j) % 7", "40 - i * (i - 1) / 2 - j", "is[i] + j"]
TURN = """
let f{0} (w : float[]) (is : int[]) (x : float[]) =
  let z = [ x[i] + sum [ w[{1}] * x[j] | j < i ] | i < length x ] in
  exp (-0.1 * dot z z)
"""
TURNS = "".join(TURN.format(k, place) for k, place in enumerate(PLACES)) + """
let either (w : float[]) (x : float[]) =
  let z = [ x[i] + sum [ w[i + 3 * j] * x[j] | j < i ] | i < length x ] in
  if floor (3.0 * x[0]) = 1.0 then exp (-0.1 * dot z z) else 1.0 - dot z z
let all (n : int) (d : int) =
  let xs = [ [ sin (float (i * i + 7 * j)) | j < d ] | i < n ] in
  let is = [ (i * 5) % 11 | i < d ] in
  let of_all f = grad (fun w -> sum [ f w x | x in xs ]) [ sin (float (i * i)) | i < 81 ] in
  print (of_all (fun w x -> f0 w is x), of_all (fun w x -> f1 w is x), of_all (fun w x -> f2 w is x), of_all (fun w x -> f3 w is x), of_all either)
for n in [17, 31, 32, 33, 70] do all n 9 done
"""

# One index is wrong, by arguments: how many there are, and which.
WRONG = """
let number k = match int_of_string args[k] with Some n -> n | None -> fail "a number"
let v = [ float i * 0.5 | i < 20 ]
let is = [ if i = number 1 then (if i % 2 = 0 then -1 else 20) else (i * 7) % 20 | i < number 0 ]
let f (v : float[]) (is : int[]) = sum [ v[is[k]] * v[k % 20] | k < length is ]
let g (v : float[]) (is : int[]) = [ v[i] * 2.0 | i in is ]
let h (v : float[]) (is : int[]) = (let mut w = [ 0.0 | i in is ] in (for k = length is - 1 downto 0 do w[k] <- v[is[k]] + float k done; w))
print (if number 1 % 4 = 0 then [f v is] else if number 1 % 4 = 1 then grad (fun v -> f v is) v else if number 1 % 4 = 2 then h v is else g v is)
"""


def outputs(path, *arguments):
    """The output of each way to run it."""
    found = {}
    def run(cpu, jit, *options, lanes="on"):
        done = subprocess.run([exe, f"--cpu={cpu}", f"--jit={jit}", *options, path, *arguments], capture_output=True, text=True, timeout=600,
                              env={**os.environ, "ATLED_LANES": lanes, "ATLED_OPT": "1" if (cpu, lanes, options) == ("v4", "on", ()) else "0"})
        return done.stdout + done.stderr

    for cpu in ("v2", "v3", "v4"):
        found[cpu, "evaluator"] = run(cpu, "off")
        found[cpu, "lanes"] = run(cpu, "always")
    found["v4", "scalar"] = run("v4", "always", lanes="off")
    found["v4", "strict"] = run("v4", "always", "--strict-fp")
    found["", "strict"] = run("v4", "off", "--strict-fp")
    return found


def first_difference(a, b):
    for k, (x, y) in enumerate(zip(a.split("\n"), b.split("\n"))):
        if x != y:
            return f"line {k + 1}: {x[:200]} / {y[:200]}"
    return f"{len(a)} and {len(b)} characters"


def compare(path, name, *arguments):
    found = outputs(path, *arguments)
    for (cpu, way), text in found.items():
        if way == "strict":
            base = found["", "strict"]
        elif cpu == "v4":
            base = found["v3", "evaluator"]
        else:
            base = found[cpu, "evaluator"]
        if text != base or ("error" in text and not arguments):
            wrong.append(name)
            print(f"{name}, {cpu}, {way}: {first_difference(base, text)}")
    return found


flags = open("/proc/cpuinfo", encoding="utf-8").read()
if "avx512dq" not in flags:
    print("skipped: this processor has no AVX-512")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    if len(sys.argv) > 2:
        for path in sys.argv[2:]:
            compare(path, path)
    else:
        path = os.path.join(folder, "expressions.atl")
        with open(path, "w", encoding="utf-8") as f:
            f.write(template())
        compare(path, "expressions")
        path = os.path.join(folder, "shapes.atl")
        with open(path, "w", encoding="utf-8") as f:
            f.write(SHAPES)
        compare(path, "shapes")
        nests = os.path.join(folder, "nests.atl")
        with open(nests, "w", encoding="utf-8") as f:
            f.write(NESTS)
        compare(nests, "nests")
        turns = os.path.join(folder, "turns.atl")
        with open(turns, "w", encoding="utf-8") as f:
            f.write(TURNS)
        compare(turns, "turns")
        index = os.path.join(folder, "wrong.atl")
        with open(index, "w", encoding="utf-8") as f:
            f.write(WRONG)
        for at in (0, 1, 2, 6, 7, 8, 14, 15, 18, 22, 50):
            compare(index, f"wrong index {at}", "23", str(at))
        done = subprocess.run([exe, "ir", "--stage=lowered", path], capture_output=True, text=True, timeout=60).stdout
        nested = subprocess.run([exe, "ir", "--stage=lowered", nests], capture_output=True, text=True, timeout=60).stdout
        done += nested + subprocess.run([exe, "ir", "--stage=lowered", turns], capture_output=True, text=True, timeout=60).stdout
        for text in (r"# lanes: \d+ load", r"# lanes: .*\d+ test", r"# lanes: .*element", r"# lanes: .*\d+ sum", r"# lanes: .*; 16 at once", r"# no lanes: an array is read or written at several places"):
            if not re.search(text, done):
                wrong.append(text)
                print(f"the lowered code doesn't say {text}")
print(f"{len(wrong)} wrong")
sys.exit(1 if wrong else 0)
