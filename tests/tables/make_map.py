#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random operations on maps and sets, with what Python's dict and set make of them, as a program.

usage: make_map.py > tests/programs/map_table.atl"""
import random

SEED, STEPS, KEYS = 31, 300, 40
MODULUS = 1_000_003
SET, REMOVE, UPDATE, MERGE, FILTER, GET = range(6)

PROGRAM = """# Random operations on maps, beside what Python's dict makes of them; made by tests/tables/make_map.py.
# An operation is (what, key, value); `expected` has after each the size and a sum over the entries in order.
# modes: evaluator
let operations = [
{operations}]
let expected = [
{expected}]

let mix acc k v = (31 * acc + 7 * k + v) % {modulus}

# name: a key of any type for a number, in the order of numbers; number: its inverse.
let check name number =
  let block key = Map.of_array [ (name ((key + 3 * (j * 7 % 5)) % {keys}), j) | j < 5 ] in
  let step m (what, key, value) =
    if what = {SET} then Map.set (name key) value m
    else if what = {REMOVE} then Map.remove (name key) m
    else if what = {UPDATE} then
      Map.update (name key) (fun o -> match o with None -> Some value | Some v -> if v % 2 = 0 then None else Some (v + value)) m
    else if what = {MERGE} then Map.merge (fun a b -> (2 * a + b) % {modulus}) m (block key)
    else if what = {FILTER} then Map.filter (fun k v -> (number k + v) % 5 <> value % 5) m
    else Map.set (name key) (Map.find value (name ((key + 1) % {keys})) m) m in
  let mut m = Map.empty in
  let mut wrong = 0 in
  for i = 0 to length operations - 1 do
    m <- step m operations[i];
    let got = (Map.size m, Map.fold (fun acc k v -> mix acc (number k) v) 0 m) in
    let again = Map.of_array (reverse (Map.to_array m)) in
    if got <> expected[i] || again <> m || length (Map.keys m) <> Map.size m then wrong <- wrong + 1
  done;
  wrong

print (check id id)   # expect: 0
print (check (fun k -> Str.sub "0123456789abcdefghijklmnopqrstuvwxyzßäöü" k 1) (fun s -> match Str.find s "0123456789abcdefghijklmnopqrstuvwxyzßäöü" with Some i -> i | None -> -1))   # expect: 0
print (check (fun k -> (k / 7, 1.5 * float (k % 7))) (fun (a, b) -> 7 * a + int (b / 1.5)))   # expect: 0
"""


def mix(acc, k, v):
    return (31 * acc + 7 * k + v) % MODULUS


def apply(m, what, key, value):
    if what == SET:
        m[key] = value
    elif what == REMOVE:
        m.pop(key, None)
    elif what == UPDATE:
        v = m.get(key)
        if v is None:
            m[key] = value
        elif v % 2 == 0:
            del m[key]
        else:
            m[key] = v + value
    elif what == MERGE:
        block = {}
        for j in range(5):
            block[(key + 3 * (j * 7 % 5)) % KEYS] = j
        for k, v in block.items():
            m[k] = (2 * m[k] + v) % MODULUS if k in m else v
    elif what == FILTER:
        for k in [k for k, v in m.items() if (k + v) % 5 == value % 5]:
            del m[k]
    else:
        m[key] = m.get((key + 1) % KEYS, value)


def rows(pairs, per_line):
    texts = ["(" + ", ".join(map(str, p)) + ")" for p in pairs]
    lines = [", ".join(texts[i:i + per_line]) for i in range(0, len(texts), per_line)]
    return "  " + ",\n  ".join(lines)


def main():
    rng = random.Random(SEED)
    m, operations, expected = {}, [], []
    for _ in range(STEPS):
        what = rng.choices(range(6), weights=[10, 6, 6, 1, 0.6, 4])[0]
        op = (what, rng.randrange(KEYS), rng.randrange(1000))
        apply(m, *op)
        operations.append(op)
        total = 0
        for k in sorted(m):
            total = mix(total, k, m[k])
        expected.append((len(m), total))
    print(PROGRAM.format(operations=rows(operations, 10), expected=rows(expected, 10), modulus=MODULUS, keys=KEYS, SET=SET,
                         REMOVE=REMOVE, UPDATE=UPDATE, MERGE=MERGE, FILTER=FILTER), end="")


main()
