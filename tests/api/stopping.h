/* SPDX-License-Identifier: MIT */
/* The slow programs of test_stopping.c. Each is the text `before`, n times `repeated` (`$i` is 1 to n, `$j` one less),
 * and `after`. */
#ifndef ATLED_TEST_STOPPING_H
#define ATLED_TEST_STOPPING_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum SlowCall {
  EVAL, /* the program is evaluated */
  CHECK_ONLY,
  FORMAT,
  IR,
  TYPE,   /* of the expression */
  GET,    /* the expression at float -> float */
  RESULT, /* evaluated beforehand; its value's text */
  CALL    /* of `run : int -> float` with the argument; it takes long in itself */
} SlowCall;

typedef struct Slow {
  const char *name;
  SlowCall call;
  int64_t argument;
  int n;
  const char *before, *repeated, *after;
  bool waits; /* for the compiler's process */
} Slow;

/* clang-format off */
static const Slow slow_programs[] = {
    /* ---- text and syntax ---- */
    {"lex: many items", EVAL, 0, 300000, "", "let v$i = ($i + 2) * 3 # a comment\n", "0", false},
    {"lex: a long string", EVAL, 0, 3000000, "let s = \"", "abcdefghij\\n", "\"", false},
    {"lex: a long comment", EVAL, 0, 3000000, "", "# abcdefghijkl\n", "1", false},
    {"lex: bad bytes", EVAL, 0, 3000000, "", "\x01?", "1", false},
    {"lex: blanks", EVAL, 0, 10000000, "1 ", "    ", "", false},
    {"parse: a long list", EVAL, 0, 600000, "let l = [1", ", $i", "]", false},
    {"parse: errors", EVAL, 0, 300000, "", "let = 3 +\nlet v$i = = 2\n", "", false},
    {"parse: a table of records", EVAL, 0, 200000, "let l = [{a = 0, b = 1.5}", ", {a = $i, b = 2.5}", "]", false},
    {"format: a long list", FORMAT, 0, 600000, "let l = [1", ", $i", "]", false},
    {"format: many items", FORMAT, 0, 200000, "", "let v$i = if ($i+2)>3 then v else f x # a comment\n", "0", false},
    {"format: long lines", FORMAT, 0, 4000, "", "let v$i = f (g [x, y, z, x, y, z, x, y, z]) (h {a = 1, b = 2, c = 3}) + f (g [x, y, z, x, y, z]) * (if x then y else z)\n", "0", false},
    {"format: comments", FORMAT, 0, 500000, "let l = [1", ", (* $i *) # and\n 2", "]", false},
    /* ---- values of `static` ---- */
    {"static: products", EVAL, 0, 1, "let a = [ [ float (i + j) | j < 1000 ] | i < 1000 ]\n",
     "print (static (sum (flatten (a @ a @ a @ a @ a @ a @ a @ a @ a @ a @ a @ a @ a @ a @ a @ a))))\n", "", false},
    {"static: many of them", EVAL, 0, 400,
     "let rec f k n = if n = 0 then k else f (k * 7 % 11) (n - 1)\n", "print (static (f $i 900000))\n", "", false},
    /* ---- names and types ---- */
    {"check: many functions", CHECK_ONLY, 0, 60000, "let f0 x = x\n", "let f$i x y = f$j (x, y)  \n", "", false},
    {"check: large types again", CHECK_ONLY, 0, 4000, "let p x = let a = (x, x, x, x) in let b = (a, a, a, a) in let c = (b, b, b, b) in let d = (c, c, c, c) in (d, d, d, d)\n", "let v$i = (p 1, p 1.0)\n", "", false},
    {"check: unknown names", CHECK_ONLY, 0, 200000, "", "let value_$i = $i\n", "[valeu_1, valeu_2, valeu_3, valeu_4, valeu_5, valeu_6, valeu_7, valeu_8, valeu_9, vulae_1, vulae_2, vulae_3, vulae_4, vulae_5, vulae_6, vulae_7, vulae_8, vulae_9]", false},
    {"check: fourteen columns", EVAL, 0, 1,
     "type t = A | B | C | D\n"
     "let f a b c d e g h i j k l m n o = match (a, b, c, d, e, g, h, i, j, k, l, m, n, o) with\n"
     "  | (A, A, _, _, _, _, _, _, _, _, _, _, _, _) -> 1\n  | (_, B, B, _, _, _, _, _, _, _, _, _, _, _) -> 2\n"
     "  | (_, _, C, C, _, _, _, _, _, _, _, _, _, _) -> 3\n  | (_, _, _, A, A, _, _, _, _, _, _, _, _, _) -> 4\n"
     "  | (_, _, _, _, B, B, _, _, _, _, _, _, _, _) -> 5\n  | (_, _, _, _, _, C, C, _, _, _, _, _, _, _) -> 6\n"
     "  | (_, _, _, _, _, _, A, A, _, _, _, _, _, _) -> 7\n  | (_, _, _, _, _, _, _, B, B, _, _, _, _, _) -> 8\n"
     "  | (_, _, _, _, _, _, _, _, C, C, _, _, _, _) -> 9\n  | (_, _, _, _, _, _, _, _, _, A, A, _, _, _) -> 10\n"
     "  | (_, _, _, _, _, _, _, _, _, _, B, B, _, _) -> 11\n  | (_, _, _, _, _, _, _, _, _, _, _, C, C, _) -> 12\n"
     "  | (_, _, _, _, _, _, _, _, _, _, _, _, A, A) -> 13\n  | _ -> 14\n",
     "", "f A A A A A A A A A A A A A A", false},
    {"check: many cases", EVAL, 0, 8000, "let f x = match x with\n", " | ($i, _, $j) -> $i\n", " | _ -> 0\nf (1, 2, 3)", false},
    {"check: open records", CHECK_ONLY, 0, 4000, "let f0 r = r.a\n", "let f$i r = r.x$i + f$j r\n", "", false},
    {"type: of an expression", TYPE, 0, 400000, "1", " + $i", "", false},
    /* ---- elaboration ---- */
    {"elaborate: long sum", EVAL, 0, 200000, "let f x = x", " + $i * x", "\nf 3", false},
    /* ---- derivatives and passes ---- */
    {"ad: grad eight deep", EVAL, 0, 1,
     "let f x = sin (x * x) * exp (cos x) / (1.0 + x * x)\n"
     "let g = grad (grad (grad (grad (grad (grad (grad (grad f)))))))\n", "", "g 0.5", false},
    {"ad: eight deep, looked up", GET, 0, 1, "grad (grad (grad (grad (grad (grad (grad (grad (fun x -> sin (x * x) * exp (cos x) / (1.0 + x * x)))))))))", "", "", false},
    {"ad: long straight line", EVAL, 0, 6000, "let f (x : float) =\n  let v0 = x in\n", "  let v$i = sin v$j * cos x + v$j in\n", "  v6000\ngrad f 0.5", false},
    {"ad: Hessian of many loops", EVAL, 0, 200, "let f (v : float[]) =\n  let v0 = v in\n", "  let v$i = [ sin v$j[k] * v$j[(k * 7) % length v] | k < length v ] in\n", "  sum v200\nhessian f [1.0, 2.0]", false},
    {"opt: many loops", IR, 0, 1500, "let f (v : float[]) =\n  let v0 = v in\n", "  let v$i = [ v$j[k] * v[length v - 1 - k] + 1.0 | k < length v ] in\n", "  sum v1500\nf [1.0, 2.0]", false},
    {"opt: many updates", EVAL, 0, 3000, "let f (v : float[]) n =\n  let mut a = v in\n", "  a[n % $i] <- a[(n + $i) % 7] * 2.0;\n", "  a\nf [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0] 3", false},
    {"opt: gradient of updates", EVAL, 0, 400, "let f (v : float[]) =\n  let mut a = v in let n = length v in\n", "  a[n % $i] <- a[(n + $i) % n] * 2.0;\n", "  sum a\ngrad f [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]", false},
    {"opt: many checks", IR, 0, 600, "let f (v : float[]) (k : int[]) =\n  let mut s = 0.0 in\n  for i = 0 to length v do\n", "    s += v[i + k[$i]] * v[k[i] - $i];\n", "    s += 1.0\n  done; s\nf [1.0, 2.0] [3]", false},
    {"opt: linear forms", IR, 0, 60, "let f (v : float[]) n m =\n  let mut s = 0.0 in\n  for i = 0 to n do for j = i to m do\n", "    s += v[i * $i + j + n * $j - m];\n", "    s += 1.0\n  done done; s\nf [1.0, 2.0] 3 4", false},
    {"opt: pieces joined by ++", EVAL, 0, 120, "let f (v : float[]) =\n  let v0 = v in\n", "  let v$i = v$j ++ [ x * 2.0 | x in v$j[..1] ] in\n", "  sum v120\ngrad f [1.0, 2.0]", false},
    {"opt: closures", EVAL, 0, 250, "let f (x : float) n =\n  let g0 = fun y -> y + x in\n", "  let g$i = if n > $i then (fun y -> g$j (y * x)) else (fun y -> g$j y + $i.0) in\n", "  g250 x\ngrad (fun x -> f x 3) 0.1", false},
    {"opt: branches", EVAL, 0, 3000, "let f (x : float) =\n  let v0 = x in\n", "  let v$i = if v$j > $i.0 then v$j * x else v$j + x in\n", "  v3000\ngrad f 0.1", false},
    {"opt: nested loops", EVAL, 0, 14, "let f (v : float[]) n =\n  let mut s = 0.0 in\n", "  for i$i = 0 to n do s += v[i$i] * s;\n", "  s += 1.0 done done done done done done done done done done done done done done; s\ngrad (fun v -> f v 3) [1.0, 2.0, 3.0, 4.0]", false},
    {"opt: many functions", EVAL, 0, 2000, "let rec f0 (x : float) n = if n = 0 then x else f0 (x * x) (n - 1)\n", "let rec f$i (x : float) n = if n = 0 then f$j x 3 else f$i (x + $i.0) (n - 1) * x\n", "grad (fun x -> f2000 x 3) 0.5", false},
    /* ---- lowered code and the compiler's process ---- */
    {"lower: a long function", EVAL, 0, 20000, "let f (x : float) n =\n  let mut s = x in\n", "  if n > $i then s <- s * x + $i.0;\n", "  s\nf 0.5 4", false},
    {"compile: waiting for GCC", EVAL, 0, 3000, "let f (x : float) n =\n  let mut s = x in\n", "  if n > $i then s <- s * x + $i.0;\n", "  s\nf 0.5 4", true},
    /* ---- loops ---- */
    {"loop: cheap sum", CALL, 100000000000, 0, "let run n = sum [ float i * 0.5 | i < n ]", "", "", false},
    {"loop: sum of four hundred terms", CALL, 1000000000, 400, "let run n = sum [ 0.0", " + sin (float i * 0.$i)", " | i < n ]", false},
    {"loop: map of a long body", CALL, 20000000, 100, "let run n = (let v = [ (let x = float i in 0.0", " + exp (x * 0.$i)", ") | i < n ] in v[n - 1])", false},
    {"loop: constant bounds", CALL, 60000, 30, "let run n = (let mut s = 0.0 in for i = 0 to n do for j = 0 to 60000 do s += (let x = float (i + j) in 0.0", " + cos (x * 0.$i)", ") done done; s)", false},
    {"loop: short constant bounds", CALL, 100000000, 0, "let run n = (let mut s = 0.0 in for i = 0 to n do for j = 0 to 10 do for k = 0 to 60000 do s += s * 0.5 + float (j * k) done done done; s)", "", "", false},
    {"loop: while", CALL, 0, 0, "let run n = (let mut x = 1.0 in while x > float n do x <- x * 1.0000001 - x * 0.0000001 + 1e-20 done; x)", "", "", false},
    {"loop: recursion", CALL, 60, 0, "let rec fib n = if n < 2 then 1.0 else fib (n - 1) + fib (n - 2)\nlet run n = fib n", "", "", false},
    {"loop: calls to the end", CALL, 1000000000000, 0, "let rec go n s = if n = 0 then s else go (n - 1) (s * 0.5 + float n)\nlet run n = go n 0.0", "", "", false},
    {"loop: gradient", CALL, 20000000, 0, "let f n x = (let mut s = x in for i = 0 to n do s <- sin (s * x) done; s)\nlet run n = grad (f n) 0.5", "", "", false},
    {"loop: gradients in a loop", CALL, 100000000, 0, "let v = [ float i | i < 1000 ]\nlet run n = (let mut s = 0.0 in for i = 0 to n do s += (grad (fun v -> sum [ sin x * x | x in v ]) v)[i % 1000] done; s)", "", "", false},
    {"loop: list", CALL, 20000000, 0, "let run n = (let l = List.init n (fun i -> float i) in List.sum (List.map (fun x -> x * 2.0) (List.rev l)))", "", "", false},
    {"loop: attempts", CALL, 1000000000, 0, "let run n = (let mut s = 0.0 in for i = 0 to n do s += (match attempt (fun () -> if i % 2 = 0 then fail \"no\" else 1.0) with Ok x -> x | Error _ -> 2.0) done; s)", "", "", false},
    {"loop: closures", CALL, 1000000000, 0, "let table = [fun x -> x + 1.0, fun x -> x * 0.5, sin]\nlet run n = (let mut s = 0.0 in for i = 0 to n do s <- table[i % 3] s done; s)", "", "", false},
    {"loop: scan", CALL, 100000000, 0, "let run n = (let v = scan (fun a x -> sin (a + x)) 0.0 [ float i | i < n ] in v[n - 1])", "", "", false},
    /* ---- the runtime ---- */
    {"run: sort", CALL, 6000000, 0, "let run n = (let v = sort [ sin (float i) | i < n ] in v[0])", "", "", false},
    {"run: sort of strings", CALL, 1000000, 0, "let run n = (let v = sort [ show ((i * 7919) % 1000003) | i < n ] in float (Str.length v[0]))", "", "", false},
    {"run: product of matrices", CALL, 3000, 0, "let run n = (let a = [ [ float (i + j) | j < n ] | i < n ] in (a @ a)[0][0])", "", "", false},
    {"run: derivative of products", CALL, 2000, 0, "let run n = (let a = [ [ float (i + j) | j < n ] | i < n ] in (grad (fun a -> sum (flatten (a @ a))) a)[0][0])", "", "", false},
    {"run: equality", CALL, 1000000000, 0, "let a = [ (i, show i) | i < 30000 ]\nlet b = [ (i, show i) | i < 30000 ]\nlet run n = (let mut s = 0.0 in for i = 0 to n do if a = b then s += 1.0 done; s)", "", "", false},
    {"run: comparison of lists", CALL, 1000000000, 0, "let a = List.init 100000 (fun i -> i)\nlet b = List.init 100000 (fun i -> i)\nlet run n = (let mut s = 0.0 in for i = 0 to n do if a < b then s += 1.0 done; s)", "", "", false},
    {"run: text of a value", CALL, 10000000, 0, "let run n = float (Str.length (show (List.init n (fun i -> float i * 0.1))))", "", "", false},
    {"run: printing", CALL, 1000000000, 0, "let l = List.init 30000 (fun i -> (i, 0.5))\nlet run n = (for i = 0 to n do print l done; 0.0)", "", "", false},
    {"run: joining strings", CALL, 1000000000, 0, "let a = [ show i | i < 100000 ]\nlet run n = (let mut s = 0.0 in for i = 0 to n do s += float (Str.length (Str.join \", \" a)) done; s)", "", "", false},
    {"run: replacing", CALL, 1000000000, 0, "let a = Str.join \" \" [ show i | i < 200000 ]\nlet run n = (let mut s = 0.0 in for i = 0 to n do s += float (Str.length (Str.replace \"1\" \"one\" a)) done; s)", "", "", false},
    {"run: regular expressions", CALL, 1000000000, 0, "let a = Str.join \" \" [ show i | i < 100000 ]\nlet run n = (let mut s = 0.0 in for i = 0 to n do s += float (length (Regex.find_all \"[0-9]+ \" a)) done; s)", "", "", false},
    {"run: a regular expression back", CALL, 1000000000, 0, "let a = Str.join \"\" [ \"a\" | i < 25 ] ++ \"b\"\nlet run n = (let mut s = 0.0 in for i = 0 to n do if (match attempt (fun () -> Regex.test \"(?=a)(a+)+$\" a) with Ok b -> b | _ -> true) then s += 1.0 done; s)", "", "", false},
    {"run: JSON", CALL, 1000000000, 0, "let a = \"[\" ++ Str.join \", \" [ show i | i < 200000 ] ++ \"]\"\nlet run n = (let mut s = 0.0 in for i = 0 to n do match Json.parse a with Json.Array v -> s += float (length v) | _ -> () done; s)", "", "", false},
    {"run: text of JSON", CALL, 1000000000, 0, "let a = Json.Array [ Json.Number (float i) | i < 100000 ]\nlet run n = (let mut s = 0.0 in for i = 0 to n do s += float (Str.length (Json.show a)) done; s)", "", "", false},
    {"run: long arrays joined", CALL, 20000000, 0, "let run n = (let mut a = [ float i | i < n ] in for i = 0 to 3 do a <- a ++ reverse a done; a[7])", "", "", false},
    {"run: copies", CALL, 1000000000, 0, "let a = [ float i | i < 1000000 ]\nlet run n = (let mut s = 0.0 in for i = 0 to n do s += (let mut b = a in b[i % 7] <- 2.0; b[3]) done; s)", "", "", false},
    {"run: scattered sums", CALL, 10000000, 0, "let run n = (let v = [ float i | i < n ] in (grad (fun v -> sum [ v[(i * 7919) % n] * v[i] | i < n ]) v)[0])", "", "", false},
    {"run: random numbers", CALL, 300000000, 0, "let run n = mean (Random.uniform (Random.key 1) n)", "", "", false},
    {"run: sleep", CALL, 1000, 0, "let run n = (sleep (float n); 0.0)", "", "", false},
    {"run: transposed", CALL, 6000, 0, "let run n = (let mut a = [ [ float (i + j) | j < n ] | i < n ] in for i = 0 to 20 do a <- transpose a done; a[1][2])", "", "", false},
    {0}};
/* clang-format on */
#endif
