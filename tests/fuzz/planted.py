#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do the random programs find faults? Plants each of these into a copy of the sources, builds it, and runs run.py until a
difference is found; prints after how many programs. Exit status 1: one wasn't found in so many.

usage: planted.py --root FOLDER [--programs N] [--seed N] [--only NAME] [--check]

A fault is one text or more, each of one file, and what takes its place; the product itself has no switch for faults."""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

FAULTS = {
    "a wrong derivative rule (of atanh)": [
        ("stdlib/prelude.atl", "(atanh x, fun d -> _over d (_one_minus_square x))", "(atanh x, fun d -> _over d (1.0 + x))")],
    "a dropped accumulator contribution (what was added while it was moved out)": [
        ("src/ad/reverse.c", "*c = *c ? ir_op2(r->w, OP_CADD, acc, *c) : acc;", "*c = acc;")],
    "a missing copy (of a value taken twice by one instruction)": [
        ("src/lower/ownership.c", "         contains(g->moved.data, g->moved.len, r);", "         false;")],
    "a missing copy (of an array that is read after its update)": [
        ("src/lower/lower_node.c", "return info->pins == 0 && !info->constant && sched_last_use(fr->s, x, fr->pos);",
         "return x && info->pins == 0 && !info->constant;")],
    # Two things see to it: sums keep the form that they had before differentiation, and what decides is kept where it may differ.
    "a branch that the backward pass decides anew (of what is rounded)": [
        ("src/graph/split.c", "bool differs = c->need[i] && (c->rounded[i] || c->chosen[i]);", "bool differs = false;"),
        ("src/opt/contract.c", "return c->last ? NULL : ir_apart(c->w, n, ops);", "return c && n && ops ? NULL : NULL;")],
    "an accumulator for each slice that recursion goes on with": [
        ("src/opt/slice_params.c", "    if (e.slice && !(", "    if (s->w == NULL && e.slice && !(")],
    "a tape of the variants whose arrays a loop changes in place": [
        ("src/ad/loop_plan.c", "ir_holds_arrays(w, b->params[i]) && (", "b->params[i]->kind != T_VARIANT && ir_holds_arrays(w, b->params[i]) && (")],
    "a copy at each step of a walk over rows (an array that is measured after it was added to)": [
        ("src/lower/schedule.c", "  operand = fact_named(operand);\n", "")],
    "a sign of zero that GCC loses (of an int's conversion)": [
        ("src/jit/helpers.c", "compare(e, GC_GE, magnitude, k_f64(e, 1))", "compare(e, GC_EQ, magnitude, magnitude)")],
    "a sign of zero that GCC loses (of a sum that a condition leaves out)": [
        ("src/jit/sums.c", "unsigned facts = k->sums[i->dst];", "unsigned facts = k->sums[i->dst] & MAY_BE_MINUS_ZERO;")],
    "a derivative rule without its guard (of exp)": [
        ("stdlib/prelude.atl", "let y = exp x in (y, fun d -> _times d y)", "let y = exp x in (y, fun d -> d * y)")],
    "a derivative that has a value where its function fails": [
        ("src/ad/expand.c", "  dx = ir_after(w, dx, first, WAITS_ERROR);\n", ""),
        ("src/ad/expand.c", "dy = ir_op2(w, OP_AFTER, dy, ir_substitute(w, errors, t.args, g->nparams, n->site));", "(void)errors;")],
    "a cotangent whose shape isn't looked at": [
        ("src/ad/expand.c", "  dx = ir_op2(w, OP_AFTER, dx, ir_errors(w, r->params.data, r->params.len, d));\n", "")],
    "a backward pass that fails before the effects of its function": [
        ("src/graph/error_slice.c", "ops[k] = ir_after(w, ops[k], first, WAITS_ERROR);", "(void)first;")],
    "a rule's missing mode at zero": [
        ("src/ad/cotangent.c", "return convert(&(Conversion){w, true, general_leaf,", "if (t->kind) return ad_zero_public(w, t, x);\n  return convert(&(Conversion){w, true, general_leaf,")],
    # Two things see to it: operands that wait, and the places of the text.
    "an error before the effects of its operands": [
        ("src/elab/elab_state.c", "  return ir_after(c->w, x, el_token(c), WAITS_END); /* the lengths of an array wait, too */", "  return x;"),
        ("src/facts/effect_places.c", "ir_site_standing(w, effect, here) != STANDS_ELSEWHERE ||", "ir_site_standing(w, effect, here) == STANDS_BEFORE ||")],
    "a derivative that loses its digits (of softmax, next to 1)": [
        ("stdlib/prelude.atl", "[ ps[i] * (ds[i] - mean - lost) | i < length ps ]", "[ ps[i] * (ds[i] - mean) | i < length ps ]")],
}
# Those that show in programs that may fail.
OPTIONS = {name: ["--failing"] for name in (
    "an error before the effects of its operands", "a derivative that has a value where its function fails",
    "a cotangent whose shape isn't looked at", "a backward pass that fails before the effects of its function")}
HERE = os.path.dirname(os.path.abspath(__file__))


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, **options)


def copy(root, folder):
    for name in os.listdir(root):
        if name.startswith((".", "build")):
            continue
        source, target = os.path.join(root, name), os.path.join(folder, name)
        if os.path.isdir(source):
            shutil.copytree(source, target)
        else:
            shutil.copy2(source, target)


def build(folder):
    out = os.path.join(folder, "build")
    for command in (["cmake", "-S", folder, "-B", out, "-G", "Ninja"], ["cmake", "--build", out, "--target", "atled", "atled-compiler", "fuzz_cost"]):
        r = run(command)
        if r.returncode:
            sys.exit(f"planted.py: {' '.join(command)}:\n{r.stdout[-2000:]}{r.stderr[-2000:]}")
    return os.path.join(out, "bin", "atled")


def sound(folder, edit):
    """The source that a part of a fault is put into, which must hold the text to be replaced once."""
    path, old, _ = edit
    with open(os.path.join(folder, path), encoding="utf-8") as f:
        text = f.read()
    if text.count(old) != 1:
        sys.exit(f"planted.py: {path} has the text of the fault {text.count(old)} times: {old!r}")
    return text


def write(folder, path, text):
    with open(os.path.join(folder, path), "w", encoding="utf-8") as f:
        f.write(text)


def hunt(options, folder, name):
    """Is the fault found?"""
    before = [(edit[0], sound(folder, edit)) for edit in FAULTS[name]]
    for (path, old, new), (_, text) in zip(FAULTS[name], before):
        write(folder, path, text.replace(old, new))
    r = run([sys.executable, os.path.join(HERE, "run.py"), "--atled", build(folder), "--programs", str(options.programs),
             "--seed", str(options.seed), "--stop", "--effort", "0", *OPTIONS.get(name, [])], cwd=folder)
    for path, text in before:
        write(folder, path, text)
    found = re.search(r"^program (\d+): (.*)", r.stdout, re.M)
    if found:
        print(f"{name}: found by program {int(found[1]) + 1}: {found[2][:80]}", flush=True)
    else:
        print(f"{name}: not found\n{r.stdout[-300:]}{r.stderr[-500:]}", flush=True)
    return found


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--root", required=True)
    a.add_argument("--programs", type=int, default=1000)
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--only", help="a part of a fault's name")
    a.add_argument("--check", action="store_true", help="only see whether the faults can be planted")
    options = a.parse_args()
    if options.check:
        for name in FAULTS:
            for edit in FAULTS[name]:
                sound(options.root, edit)
        return
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        copy(options.root, folder)
        for name in FAULTS:
            if not options.only or options.only in name:
                missed += not hunt(options, folder, name)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
