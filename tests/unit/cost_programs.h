/* SPDX-License-Identifier: MIT */
/* Programs of several fields for test_cost.c, as users write them: physics, statistics, text, trees, graphs, dynamic
 * programming. Those that have one say what `:cost` can't count. */
#ifndef ATLED_COST_PROGRAMS_H
#define ATLED_COST_PROGRAMS_H

typedef struct Case {
  const char *name, *defines, *x;
  const char *not_counted; /* NULL: all is */
} Case;

/* The log posterior of a Gaussian mixture, up to its last line: as ADBench has it. */
#define MIXTURE                                                                                                        \
  "let log_gamma_distribution d a = 0.25 * float (d * (d - 1)) * log pi + sum [ lgamma (a - 0.5 * float j) | j < d "   \
  "]\n"                                                                                                                \
  "let prior t =\n"                                                                                                    \
  "  let d = length t.mu[0] in\n"                                                                                      \
  "  let n = float (d + 1) in\n"                                                                                       \
  "  let c = n * float d * (log 0.5 - 0.5 * log 2.0) - log_gamma_distribution d (0.5 * n) in\n"                        \
  "  let of_component q l = 0.5 * (sum [ exp y ^ 2 | y in q ] + dot l l) - 2.0 * sum q in\n"                           \
  "  sum [ of_component r[..d] r[d..] | r in t.icf ] - float (length t.icf) * c\n"                                     \
  "let objective xs t =\n"                                                                                             \
  "  let n = length xs in\n"                                                                                           \
  "  let d = length t.mu[0] in\n"                                                                                      \
  "  let k = length t.alpha in\n"                                                                                      \
  "  let sums = [ sum r[..d] | r in t.icf ] in\n"                                                                      \
  "  let diagonal = [ exp t.icf[c, j] | c < k, j < d ] in\n"                                                           \
  "  let below i j = d + j * (2 * d - j - 1) / 2 + i - j - 1 in\n"                                                     \
  "  let beta c x =\n"                                                                                                 \
  "    let y = x - t.mu[c] in\n"                                                                                       \
  "    let z = [ diagonal[c, i] * y[i] + sum [ t.icf[c, below i j] * y[j] | j < i ] | i < d ] in\n"                    \
  "    t.alpha[c] + sums[c] - 0.5 * dot z z in\n"                                                                      \
  "  -0.5 * float (n * d) * log (2.0 * pi) + sum [ logsumexp [ beta c x | c < k ] | x in xs ]\n"                       \
  "  - float n * logsumexp t.alpha + prior t\n"
#define PARAMETERS                                                                                                     \
  "{alpha = [0.1, 0.7], mu = [ 0.1 * float (i + j) | i < 2, j < 3 ], icf = [ 0.2 * cos (float (i + j)) | i < 2, j < "  \
  "6 ]}"

static const Case programs_of_fields[] = {
    {"record of two floats", "let f p = p.a * sin p.b", "{a = 0.5, b = 2.0}", NULL},
    {"list of squares",
     "let rec total xs = match xs with | Nil -> 0.0 | x :: rest -> x * x + total rest\n"
     "let f xs = total xs",
     "to_list [ 0.1 + float i / 50.0 | i < 60 ]", NULL},
    {"fold over a list", "let f xs = List.fold (fun s x -> s + x * x) 0.0 xs",
     "to_list [ 0.1 + float i / 50.0 | i < 60 ]", NULL},
    {"tree argument",
     "type tree = Leaf of float | Node of tree * tree\n"
     "let rec build d = if d = 0 then Leaf (1.0 + float d) else Node (build (d - 1), build (d - 1))\n"
     "let rec value t = match t with | Leaf x -> x * x | Node (l, r) -> sin (value l) * value r\n"
     "let f t = value t",
     "build 5", NULL},
    {"expression",
     "type expr = X | Const of float | Add of expr * expr | Mul of expr * expr | Sin of expr\n"
     "let e = Add (Mul (X, Sin (Mul (Const 2.0, X))), Sin (Add (X, Const 1.0)))\n"
     "let rec eval x e = match e with\n"
     "  | X -> x\n"
     "  | Const c -> c\n"
     "  | Add (a, b) -> eval x a + eval x b\n"
     "  | Mul (a, b) -> eval x a * eval x b\n"
     "  | Sin a -> sin (eval x a)\n"
     "let f x = eval x e",
     "0.7", NULL},
    {"greatest path",
     "let f v =\n"
     "  let mut best = [ v[10 + j] | j < 5 ] in\n"
     "  for r = 0 to 3 do\n"
     "    let row = 3 - r in\n"
     "    best <- [ v[row * (row + 1) / 2 + j] + max best[j] best[j + 1] | j < row + 1 ]\n"
     "  done;\n"
     "  best[0]",
     "[ sin (float (i * i)) | i < 15 ]", NULL},
    {"heat equation",
     "let step u =\n"
     "  let n = length u in\n"
     "  [ if i = 0 || i = n - 1 then 0.0 else u[i] + 0.2 * (u[i - 1] - 2.0 * u[i] + u[i + 1]) | i < n ]\n"
     "let f u =\n"
     "  let mut v = u in\n"
     "  for k = 1 to 10 do v <- step v done;\n"
     "  sum [ x * x | x in v ]",
     "[ exp (- (float i - 10.0) ^ 2 / 8.0) | i < 21 ]", NULL},
    {"page rank",
     "let edges = [ (i, (i * 5 + 1) % 12) | i < 12 ]\n"
     "let f w =\n"
     "  let mut r = [ 1.0 / 12.0 | i < 12 ] in\n"
     "  for k = 1 to 8 do\n"
     "    let mut s = [ 0.15 / 12.0 | i < 12 ] in\n"
     "    for e = 0 to length edges - 1 do\n"
     "      let (a, b) = edges[e] in\n"
     "      s[b] += 0.85 * r[a] * w[e]\n"
     "    done;\n"
     "    r <- s\n"
     "  done;\n"
     "  sum [ x * x | x in r ]",
     "[ 0.1 + 0.01 * float i | i < 12 ]", NULL},
    {"hidden markov model",
     "let obs = [0, 1, 1, 0, 2, 1, 0, 0, 2, 1]\n"
     "let emit = [ 0.1 + 0.1 * float ((i + j) % 3) | i < 3, j < 3 ]\n"
     "let f a =\n"
     "  let mut alpha = [0.3, 0.4, 0.3] in\n"
     "  for t = 0 to length obs - 1 do\n"
     "    alpha <- [ emit[j, obs[t]] * sum [ alpha[i] * a[3 * i + j] | i < 3 ] | j < 3 ]\n"
     "  done;\n"
     "  log (sum alpha)",
     "[ 0.2 + 0.05 * float i | i < 9 ]", NULL},
    {"median", "let f xs = let s = sort xs in s[length s / 2]", "[ sin (float (7 * i)) | i < 31 ]",
     "the comparisons of a sort"},
    {"lengths of words",
     "let words = [\"alpha\", \"beta\", \"gamma\", \"a\", \"omega\"]\n"
     "let f w = sum [ exp (- w * float (Str.length s)) | s in words ]",
     "0.3", "`Str.length`"},
    {"pattern",
     "let words = [\"alpha\", \"beta\", \"gamma\", \"a\", \"omega\"]\n"
     "let f w = sum [ exp (- w * (if Regex.test \"^a\" s then 1.0 else 2.0)) | s in words ]",
     "0.3", "`Regex.test`"},
    {"equal pairs",
     "let pairs = [(1.0, 2), (2.0, 3), (1.0, 2)]\n"
     "let f w = sum [ exp (- w * (if p = pairs[0] then 1.0 else 2.0)) | p in pairs ]",
     "0.3", "comparing structures"},
    {"lookup",
     "let prices = Map.of_array [(\"a\", 1.5), (\"b\", 2.5)]\n"
     "let f q = match Map.get \"b\" prices with | Some p -> p * q * q | None -> 0.0",
     "0.4", NULL},
    {"lookups by constant keys",
     "let prices = Map.of_array [(\"bread\", 1.5), (\"milk\", 2.5), (\"tea\", 4.0), (\"rice\", 3.0)]\n"
     "let f q = sum [ exp (- w * q) * Map.find 0.0 k prices | (k, w) in [(\"tea\", 0.5), (\"rice\", 2.0), (\"salt\", "
     "1.0)] ]",
     "0.4", NULL},
    {"map as argument", "let f m = Map.find 0.0 \"x\" m * sin (Map.find 0.0 \"y\" m)",
     "Map.of_array [(\"x\", 1.5), (\"y\", 2.5), (\"z\", 3.5)]", NULL},
    {"map by pairs of ints",
     "let edges = Map.of_array [ ((i, (3 * i) % 7), 0.5 + float i) | i < 7 ]\n"
     "let f q = sum [ q * Map.find 1.0 (i, 3) edges | i < 7 ]",
     "0.4", NULL},
    {"keys that aren't known",
     "let prices = Map.of_array [(\"1.0\", 1.5), (\"2.0\", 2.5)]\n"
     "let f q = q * Map.find 0.0 (show q) prices",
     "1.0", "comparing structures"},
    {"foreign function",
     "foreign \"libm.so.6\" tgamma : float -> float\n"
     "let f w = sum [ exp (- w * tgamma (1.0 + float i)) | i < 4 ]",
     "0.3", "the C function `tgamma`"},
    {"planets list",
     "let masses = [ 1.0 + float i | i < 8 ]\n"
     "let pull (x, y) (u, v) = let d = hypot (x - u) (y - v) + 0.1 in 1.0 / d\n"
     "let f qs = sum [ sum [ if i < j then masses[i] * masses[j] * pull qs[i] qs[j] else 0.0 | j < 8 ] | i < 8 ]",
     "[ (float i, 0.5 * float i) | i < 8 ]", NULL},
    {"ising field",
     "let f s =\n"
     "  let n = length s in\n"
     "  let mut e = 0.0 in\n"
     "  for i = 0 to n - 1 do\n"
     "    for j = 0 to n - 1 do\n"
     "      e -= tanh s[i, j] * (tanh s[(i + 1) % n, j] + tanh s[i, (j + 1) % n])\n"
     "    done\n"
     "  done;\n"
     "  e",
     "[ 0.1 * sin (float (i * j)) | i < 6, j < 6 ]", NULL},
    {"projectile drag",
     "let f p =\n"
     "  let mut x = 0.0 in\n"
     "  let mut y = 0.0 in\n"
     "  let mut vx = p.v * cos p.angle in\n"
     "  let mut vy = p.v * sin p.angle in\n"
     "  let dt = 0.01 in\n"
     "  while y >= 0.0 do\n"
     "    let speed = sqrt (vx * vx + vy * vy) in\n"
     "    vx -= dt * 0.01 * speed * vx;\n"
     "    vy -= dt * (9.81 + 0.01 * speed * vy);\n"
     "    x += dt * vx;\n"
     "    y += dt * vy\n"
     "  done;\n"
     "  x",
     "{v = 30.0, angle = 0.7}", NULL},
    {"kalman",
     "let zs = [ sin (float i / 4.0) | i < 25 ]\n"
     "let f p =\n"
     "  let (ll, _, _) = fold (fun (ll, m, v) z ->\n"
     "    let vp = v + p.q in\n"
     "    let s = vp + p.r in\n"
     "    let k = vp / s in\n"
     "    let e = z - m in\n"
     "    (ll - 0.5 * (log s + e * e / s), m + k * e, (1.0 - k) * vp)) (0.0, 0.0, 1.0) zs in\n"
     "  ll",
     "{q = 0.1, r = 0.5}", NULL},
    {"autocorrelation",
     "let f xs =\n"
     "  let m = mean xs in\n"
     "  let v = sum [ (x - m) ^ 2 | x in xs ] in\n"
     "  sum [ (xs[i] - m) * (xs[i + 1] - m) | i < length xs - 1 ] / v",
     "[ sin (float i) | i < 40 ]", NULL},
    {"student t",
     "let xs = [ sin (float i) | i < 30 ]\n"
     "let f p = sum [ lgamma ((p.nu + 1.0) / 2.0) - lgamma (p.nu / 2.0) - log p.s - (p.nu + 1.0) / 2.0 * log1p (((x - "
     "p.mu) / p.s) ^ 2 / p.nu) | x in xs ]",
     "{nu = 4.0, mu = 0.1, s = 1.1}", NULL},
    {"bigram score",
     "let text = [0, 1, 2, 3, 4, 2, 1, 0, 3, 2, 1, 4, 4, 0]\n"
     "let f w = sum [ log (softmax w[text[i]])[text[i + 1]] | i < length text - 1 ]",
     "[ 0.05 * float (i + j) | i < 5, j < 5 ]", NULL},
    {"tree of indices",
     "let rec go xs lo hi = if hi - lo = 1 then xs[lo] else let m = (lo + hi) / 2 in tanh (go xs lo m + 2.0 * go xs m "
     "hi)\n"
     "let f xs = go xs 0 (length xs)",
     "[ 0.1 * float i | i < 8 ]", NULL},
    {"search tree insert",
     "type bst = Empty | Bin of bst * float * bst\n"
     "let rec insert t x = match t with\n"
     "  | Empty -> Bin (Empty, x, Empty)\n"
     "  | Bin (l, y, r) -> if x < y then Bin (insert l x, y, r) else Bin (l, y, insert r x)\n"
     "let rec depth_sum d t = match t with\n"
     "  | Empty -> 0.0\n"
     "  | Bin (l, y, r) -> float d * y + depth_sum (d + 1) l + depth_sum (d + 1) r\n"
     "let f xs = depth_sum 1 (List.fold insert Empty xs)",
     "to_list [0.5, 0.2, 0.8, 0.1, 0.9, 0.3]", NULL},
    {"rose tree",
     "type rose = Rose of float * rose[]\n"
     "let rec total (Rose (x, kids)) = x * x + sum (map total kids)\n"
     "let f t = total t",
     "Rose (1.0, [Rose (2.0, []), Rose (3.0, [Rose (4.0, [])])])", NULL},
    {"graph laplacian",
     "let edges = [ (i % 12, (i * 7 + 3) % 12) | i < 20 ]\n"
     "let f x = sum [ let (a, b) = e in (x[a] - x[b]) ^ 2 | e in edges ]",
     "[ cos (float i) | i < 12 ]", NULL},
    {"message passing",
     "let neighbours = [ [ (i + 1) % 6, (i + 5) % 6 ] | i < 6 ]\n"
     "let f h0 =\n"
     "  let mut h = h0 in\n"
     "  for k = 1 to 3 do\n"
     "    h <- [ tanh (h[i, j] + sum [ h[v, j] | v in neighbours[i] ]) | i < 6, j < 3 ]\n"
     "  done;\n"
     "  sum (flatten h)",
     "[ 0.1 * float (i + j) | i < 6, j < 3 ]", NULL},
    {"floyd warshall",
     "let f w =\n"
     "  let mut d = w in\n"
     "  for k = 0 to 4 do\n"
     "    for i = 0 to 4 do\n"
     "      for j = 0 to 4 do\n"
     "        d[i, j] <- min d[i, j] (d[i, k] + d[k, j])\n"
     "      done\n"
     "    done\n"
     "  done;\n"
     "  sum (flatten d)",
     "[ 1.0 + float ((i * 5 + j * 3) % 7) | i < 5, j < 5 ]", NULL},
    {"knapsack",
     "let weights = [2, 3, 4, 5, 1, 2]\n"
     "let f values =\n"
     "  let mut best = [ 0.0 | c < 11 ] in\n"
     "  for i = 0 to 5 do\n"
     "    for c = 10 downto weights[i] do\n"
     "      best[c] <- max best[c] (best[c - weights[i]] + values[i])\n"
     "    done\n"
     "  done;\n"
     "  best[10]",
     "[ 1.0 + 0.3 * float i | i < 6 ]", NULL},
    {"soft dtw",
     "let ys = [ cos (float i / 2.0) | i < 8 ]\n"
     "let softmin a b c = - log (exp (- a) + exp (- b) + exp (- c))\n"
     "let f xs =\n"
     "  let n = length xs in\n"
     "  let mut r = [ if i = 0 && j = 0 then 0.0 else 100.0 | i < n + 1, j < n + 1 ] in\n"
     "  for i = 1 to n do\n"
     "    for j = 1 to n do\n"
     "      let d = (xs[i - 1] - ys[j - 1]) ^ 2 in\n"
     "      r[i, j] <- d + softmin r[i - 1, j] r[i, j - 1] r[i - 1, j - 1]\n"
     "    done\n"
     "  done;\n"
     "  r[n, n]",
     "[ sin (float i / 2.0) | i < 8 ]", NULL},
    {"matrix chain",
     "let f p =\n"
     "  let n = length p - 1 in\n"
     "  let mut m = [ 0.0 | i < n, j < n ] in\n"
     "  for len = 2 to n do\n"
     "    for i = 0 to n - len do\n"
     "      let j = i + len - 1 in\n"
     "      let mut best = inf in\n"
     "      for k = i to j - 1 do\n"
     "        best <- min best (m[i, k] + m[k + 1, j] + p[i] * p[k + 1] * p[j + 1])\n"
     "      done;\n"
     "      m[i, j] <- best\n"
     "    done\n"
     "  done;\n"
     "  m[0, n - 1]",
     "[ 1.0 + float (i % 3) | i < 6 ]", NULL},
    {"slopes",
     "let f ys =\n"
     "  let d = [ (ys[i + 1] - ys[i]) / 0.5 | i < length ys - 1 ] in\n"
     "  sum [ let t = float k / 10.0 in ys[2] * (1.0 - t) + ys[3] * t + t * (1.0 - t) * (d[1] - d[2]) | k < 10 ]",
     "[ 0.1 * float i | i < 6 ]", NULL},
    {"newton root",
     "let f (a, b) =\n"
     "  let mut x = 1.0 in\n"
     "  for k = 1 to 12 do\n"
     "    let g = x ^ 3 + b * x - a in\n"
     "    x <- x - g / (3.0 * x * x + b)\n"
     "  done;\n"
     "  x",
     "(2.0, 0.5)", NULL},
    {"simpson",
     "let g x = exp (- x * x) * cos x\n"
     "let f (a, b) =\n"
     "  let n = 20 in\n"
     "  let h = (b - a) / float n in\n"
     "  h / 3.0 * sum [ (if i = 0 || i = n then 1.0 else if i % 2 = 1 then 4.0 else 2.0) * g (a + float i * h) | i < n "
     "+ 1 ]",
     "(0.0, 2.0)", NULL},
    {"ray sphere",
     "let dot3 (a, b, c) (x, y, z) = a * x + b * y + c * z\n"
     "let f (d, c) =\n"
     "  let b = dot3 d c in\n"
     "  let disc = b * b - dot3 d d * (dot3 c c - 1.0) in\n"
     "  if disc < 0.0 then 0.0 else (b - sqrt disc) / dot3 d d",
     "((0.1, 0.2, 1.0), (0.0, 0.0, 5.0))", NULL},
    {"list of pairs", "let f ps = List.sum (List.map (fun (a, b) -> sin (a * b)) ps)",
     "to_list [ (0.1 * float i, 0.5) | i < 10 ]", NULL},
    {"reverse and zip",
     "let rec dotl a b = match (a, b) with | (x :: xs, y :: ys) -> x * y + dotl xs ys | _ -> 0.0\n"
     "let f xs = dotl xs (List.fold (fun acc x -> x :: acc) Nil xs)",
     "to_list [ 0.1 * float i | i < 10 ]", NULL},
    {"mandelbrot",
     "let f (cx, cy) =\n"
     "  let mut x = 0.0 in\n"
     "  let mut y = 0.0 in\n"
     "  let mut n = 0 in\n"
     "  while n < 60 && x * x + y * y < 4.0 do\n"
     "    let t = x * x - y * y + cx in\n"
     "    y <- 2.0 * x * y + cy;\n"
     "    x <- t;\n"
     "    n <- n + 1\n"
     "  done;\n"
     "  x * x + y * y",
     "(0.3, 0.5)", NULL},
    {"cholesky",
     "let f a =\n"
     "  let n = length a in\n"
     "  let mut l = [ 0.0 | i < n, j < n ] in\n"
     "  for j = 0 to n - 1 do\n"
     "    let d = a[j, j] - sum [ l[j, k] ^ 2 | k < j ] in\n"
     "    l[j, j] <- sqrt d;\n"
     "    for i = j + 1 to n - 1 do\n"
     "      l[i, j] <- (a[i, j] - sum [ l[i, k] * l[j, k] | k < j ]) / l[j, j]\n"
     "    done\n"
     "  done;\n"
     "  sum [ log l[i, i] | i < n ]",
     "[ (if i = j then 4.0 else 0.0) + 1.0 / float (1 + i + j) | i < 6, j < 6 ]", NULL},
    {"learned convolution",
     "let img = [ sin (float (i * j)) | i < 8, j < 8 ]\n"
     "let f k = sum (flatten [ max 0.0 (sum (flatten [ k[a, b] * img[i + a, j + b] | a < 3, b < 3 ])) | i < 6, j < 6 "
     "])",
     "[ 0.1 * float (i - j) + 0.05 | i < 3, j < 3 ]", NULL},
    {"table from a corner",
     "let f xs =\n"
     "  let n = length xs in\n"
     "  let mut r = [ if i = 0 && j = 0 then 0.0 else 100.0 | i < n + 1, j < n + 1 ] in\n"
     "  for i = 1 to n do\n"
     "    for j = 1 to n do\n"
     "      r[i, j] <- xs[i - 1] + r[i - 1, j]\n"
     "    done\n"
     "  done;\n"
     "  r[n, n]",
     "[ sin (float i / 2.0) | i < 8 ]", NULL},
    {"gaussian mixture", "let xs = [ sin (float (i * 5 + j)) | i < 8, j < 3 ]\n" MIXTURE "let f t = objective xs t",
     PARAMETERS, NULL},
    {"gaussian mixture of constant data",
     MIXTURE "let f (a, m, l) = objective [ sin (float (i * 5 + j)) | i < 8, j < 3 ] {alpha = a, mu = m, icf = l}",
     "([0.1, 0.7], [ 0.1 * float (i + j) | i < 2, j < 3 ], [ 0.2 * cos (float (i + j)) | i < 2, j < 6 ])", NULL},
    {"gaussian mixture, by its data too", MIXTURE "let f (xs, t) = objective xs t",
     "([ sin (float (i * 5 + j)) | i < 8, j < 3 ], " PARAMETERS ")", NULL},
};

#endif
