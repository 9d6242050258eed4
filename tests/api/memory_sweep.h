/* SPDX-License-Identifier: MIT */
/* Programs for the sweep over failing allocations (test_memory_sweep.c): each of another part of the language, the
 * library or of differentiation. `get` and `type`: a function that the host looks up and calls with 1.5, or NULL. */
#ifndef ATLED_TEST_MEMORY_SWEEP_H
#define ATLED_TEST_MEMORY_SWEEP_H

typedef struct SweepProgram {
  const char *name, *source, *get;
} SweepProgram;

static const SweepProgram sweep_programs[] = {
    {"arithmetic", "let a = 3 * 4 + 1\nlet b = sin 0.5 * 2.0\nprint (float a + b)\n", NULL},
    {"gradient", "let f x = sin (x * x) + exp x\nprint (grad f 0.7)\n", "grad f"},
    {"second", "let f x = x * tanh x\nlet d = grad (grad f)\nprint (d 0.3)\n", "d"},
    {"generics",
     "let twice f x = f (f x)\nlet pair a b = (a, b)\nlet id x = x\n"
     "print (twice (fun x -> x + 1) 3)\nprint (pair (id 1.5) (id \"a\"))\nlet t = twice (fun s -> s ++ s) \"ab\"\n",
     "fun x -> twice (fun y -> y * y) x"},
    {"arrays",
     "let a = [ float (i * i) | i < 6 ]\nlet b = map (fun x -> x + 1.0) a\nprint (sum (a * b))\nprint a[1..4]\n",
     "fun x -> sum (x * b)"},
    {"matrices",
     "let m = [[1.0, 2.0], [3.0, 4.0]]\nlet p = m @ m\nprint p\nlet g = grad (fun m -> sum (flatten (m @ m))) m\nprint "
     "g\n",
     NULL},
    {"records",
     "type point = {x : float, y : float}\nlet norm p = sqrt (p.x * p.x + p.y * p.y)\n"
     "let g = grad norm {x = 3.0, y = 4.0}\nprint g\nprint {g with x = 1.0}\n",
     "fun a -> norm {x = a, y = 2.0}"},
    {"variants",
     "type tree = Leaf of float | Node of (tree * tree)\n"
     "let rec total t = match t with Leaf x -> x * x | Node (l, r) -> total l + total r\n"
     "let t = Node (Leaf 1.0, Node (Leaf 2.0, Leaf 3.0))\nprint (total t)\nprint (grad total t)\n",
     "fun x -> total (Node (Leaf x, t))"},
    {"recursion",
     "let rec pow x n = if n = 0 then 1.0 else x * pow x (n - 1)\nprint (grad (fun x -> pow x 7) 1.1)\n"
     "let rec fib n = if n < 2 then n else fib (n - 1) + fib (n - 2)\nprint (fib 12)\n",
     "fun x -> pow x 5"},
    {"static",
     "type t = Leaf | Node of t * string * t\nlet xs = [ float i | i < 5 ]\n"
     "let rec tree n = if n = 0 then Leaf else Node (tree (n - 1), show n, Leaf)\n"
     "let s = static ({a = [ (x, 1) | x in xs ], b = tree 3, c = grad sum xs})\nprint s\n"
     "let f x = x * static (sum xs)\nprint (f 2.0)\n",
     "f"},
    {"mutual",
     "let rec even n = if n = 0 then true else odd (n - 1) and odd n = if n = 0 then false else even (n - 1)\n"
     "print (even 100, odd 7)\n",
     NULL},
    {"loops",
     "let collatz n = let mut k = n in let mut s = 0 in while k > 1 do (if k % 2 = 0 then k <- k / 2 else k <- 3 * k + "
     "1); s <- s + 1 done; s\n"
     "print (collatz 27)\nlet f x = let mut s = x in for i = 1 to 9 do s <- s * x + sin s done; s\nprint (grad f "
     "0.4)\n",
     "f"},
    {"updates",
     "let sieve n = let mut a = [ 1 | i < n ] in for i = 2 to n - 1 do for j = 2 to (n - 1) / i do a[i * j] <- 0 done "
     "done; sum a - 2\n"
     "print (sieve 60)\n",
     NULL},
    {"elements",
     "let step n = let p = zeros 2 in let mut c = [ {p = p, m = float i} | i < n ] in for i = 0 to 2 * n - 1 do "
     "c[i % n].p[i % 2] <- c[i % n].m + c[(i + 1) % n].p[0] done; c\n"
     "let b = step 3\nprint (map (fun r -> r.p) b)\n"
     "print (grad (fun b -> sum [ r.m * dot r.p r.p | r in b ] + (b[0].p[0] - b[1].p[1]) ^ 2) b)\n",
     NULL},
    {"parts",
     "let f (m : float[]) = let mut b = m in let mut s = 0.4 in for i = 0 to 3 do let r = (if b[i] > 0.3 then Some "
     "(Some b[i..i + 2]) else None) in b[i] <- sin b[i]; s <- s + (match r with Some (Some q) -> logsumexp q | _ -> "
     "0.1) "
     "done; s + b[0]\nprint (grad f [0.2, 0.5, 0.7, 0.1, 0.4, 0.3])\n",
     "fun x -> f [x, x, 0.5, x, x, x]"},
    {"closures",
     "let adders = [ (fun x -> x + float i) | i < 3 ]\nlet compose f g x = f (g x)\n"
     "let f x = fold (fun s g -> s * g s) x adders\nprint (grad f 0.5)\nprint (compose sin cos 1.0)\n",
     "f"},
    {"unknown",
     "let pick b = if b then sin else (fun x -> x * x)\nlet fs = pick true :: pick false :: Nil\n"
     "let rec all l x = match l with f :: r -> f (all r x) | Nil -> x\nprint (grad (all fs) 0.8)\n",
     "all fs"},
    {"pullbacks", "let f x = x * x * x\nlet (y, back) = vjp f 2.0\nprint y\nprint (back 1.0)\nprint (jvp f 2.0 1.0)\n",
     "fun x -> back x"},
    {"rules", "let cube x = x * x * x\npullback cube x = (cube x, fun d -> 3.0 * x * x * d)\nprint (grad cube 2.0)\n",
     "grad cube"},
    {"lists",
     "let l = 1 :: 2 :: 3 :: Nil\nprint (List.map (fun x -> x * 2) l)\nprint (List.length (l ++ l))\n"
     "print (List.fold (fun a b -> a + b) 0 l)\n",
     NULL},
    {"options",
     "let half n = if n % 2 = 0 then Some (n / 2) else None\nprint (half 10, half 3)\nprint (Option.map (fun x -> x + "
     "1) (half 8))\n",
     NULL},
    {"text",
     "let s = \"the quick brown fox\"\nlet words = Str.split \" \" s\nprint (map Str.length words)\nprint $\"{length "
     "words} words, {3.14159:.2f}\"\n"
     "print (Str.upper s)\n",
     NULL},
    {"regex", "let r = Regex.find_all \"[a-z]+\" \"ab 12 cd 34 ef\"\nprint r\n", NULL},
    {"csv", "let rows = Csv.of_string \"a,b\\n1,2\\n3,\\\"x y\\\"\\n\"\nprint rows\n", NULL},
    {"json", "print (Json.parse \"{\\\"a\\\": [1, 2.5, true, null]}\")\n", NULL},
    {"show",
     "type t = A | B of int | C of (string * float[])\nlet all = (A, B 3, C (\"x\", [1.0, 2.5]))\nprint all\nlet s = "
     "show all\n",
     NULL},
    {"compare", "print ((1, \"a\") < (1, \"b\"), [1, 2] = [1, 2], max 2 3, min 1.0 2.0)\nprint (sort [3, 1, 2])\n",
     NULL},
    {"random", "let k = Random.key 7\nlet x = Random.uniform k 3\nprint (length x)\n", NULL},
    {"found out", "let x = [1.0, 2.0]\nlet before = sum x\nprint x[5]\n", NULL},
    {"failing",
     "let check x = if x > 0.0 then x else fail \"not positive\"\nlet a = check 1.0\nlet b = check (0.0 - a)\n", NULL},
    {"attempts",
     "let f x = attempt (fun () -> if x > 0.0 then [1.0, 2.0][int x] else fail \"no\")\n"
     "print (f 7.0)\nprint (f (0.0 - 1.0))\nprint (f 1.0)\n",
     "fun x -> match f (x + 4.0) with Ok y -> y | Error e -> float (length e.place)"},
    {"mistyped", "let f x = x + 1\nlet g = f \"a\"\nlet h = unknown 3\n", NULL},
    {"unclosed", "let f x = (x + 1\n", NULL},
    {"generators",
     "let table = [ [ float (i * j) | j < 4 ] | i < 3 ]\nlet evens = [ x + y | x in table[1], y in table[2] ]\nprint "
     "evens\nprint (map sum table)\n",
     "fun x -> sum (map sum (x * table))"},
    {"mapped", "let f a = sum (map (fun x -> x * sin x) a)\nlet g = grad f\nprint (g [0.5, 1.0, 1.5])\n",
     "fun x -> (g [x, x])[0]"},
    {"deep",
     "let rec build n = if n = 0 then Nil else float n :: build (n - 1)\n"
     "let rec norm l = match l with x :: r -> x * x + norm r | Nil -> 0.0\nprint (norm (grad norm (build 30)))\n",
     "fun x -> norm (x :: build 3)"},
};
enum { SWEEP_PROGRAMS = sizeof sweep_programs / sizeof *sweep_programs };
#endif
