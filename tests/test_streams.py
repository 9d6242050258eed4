#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Standard streams and `exit` as a program meets them, in every mode: pipes, files, a terminal, what is closed or full.

usage: test_streams.py EXE"""
import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest

EXE = os.path.abspath(sys.argv.pop(1))
TMP = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
ENV = {**os.environ, "XDG_CACHE_HOME": TMP.name, "ATLED_CACHE": TMP.name}
MODES = ["off", "always", "auto"]

ECHO = """
let rec go n = match read_line () with
  | Some l -> print $"{n}: {show l}"; go (n + 1)
  | None -> print "end"
go 1
"""

ANSWERS = """
let rec go n = match read_line () with
  | None -> print $"{n} messages"
  | Some line ->
    let reply = attempt (fun () -> match Json.parse line with
      | Json.Object fields -> Json.Number (float (length fields))
      | Json.Array xs -> xs[0]
      | v -> Json.Number (Json.to_float v)) in
    (match reply with
      | Ok v -> print (Json.show v)
      | Error e -> print $"error: {e.message}");
    go (n + 1)
go 0
"""


def script(text, name="script.atl"):
    with open(os.path.join(TMP.name, name), "w", encoding="utf-8") as f:
        f.write(text)
    return name


def command(text, mode):
    return [EXE, f"--jit={mode}", script(text, f"script_{mode}.atl")]


class Streams(unittest.TestCase):
    def each(self, text, data, status, out, err=b""):
        """The program in every mode, with this input: its status, all of its output, and a part of its errors."""
        for mode in MODES:
            with self.subTest(mode=mode, text=text):
                r = subprocess.run(command(text, mode), input=data, capture_output=True, timeout=60, cwd=TMP.name, env=ENV, check=False)
                self.assertEqual(r.returncode, status, r.stderr)
                self.assertEqual(r.stdout, out)
                self.assertIn(err, r.stderr)
                if not err:
                    self.assertEqual(r.stderr, b"")

    def started(self, text, mode, **kw):
        return subprocess.Popen(command(text, mode), **{"cwd": TMP.name, "env": ENV, **kw})

    def test_lines(self):
        self.each(ECHO, b"", 0, b"end\n")
        self.each(ECHO, b"a\n\nb\r\nc", 0, b'1: "a"\n2: ""\n3: "b"\n4: "c"\nend\n')
        self.each(ECHO, b"a\0b\n\0", 0, b'1: "a\\x00b"\n2: "\\x00"\nend\n')

    def test_all_at_once(self):
        self.each("print (read_line ())\nprint (show (read_all ()))\nprint (show (read_all ()))\nprint (read_line ())", b"a\nb\r\nc\n", 0,
                  b'Some "a"\n"b\\r\\nc\\n"\n""\nNone\n')
        self.each("print (read_line ())\nprint (stdin_lines ())\nprint (stdin_lines ())", b"a\nb\r\n\nc", 0,
                  b'Some "a"\n["b", "", "c"]\n[]\n')

    def test_long_line(self):
        self.each("match read_line () with | Some l -> print (Str.length l) | None -> ()\nprint (read_line ())",
                  b"x" * (100 << 20) + b"\nnext\n", 0, b"104857600\nSome \"next\"\n")
        self.each("match read_line () with | Some l -> print (Json.parse l = Json.Null) | None -> ()\nprint (read_line ())",
                  b'"' + b"x" * (100 << 20) + b'"\nnext\n', 0, b"false\nSome \"next\"\n")

    def test_what_is_no_text(self):
        bad = b"a\n\xc3\xa9\nb\xff\nc\n\xc3"
        line = "print (read_line ())\n"
        for n, out in ((3, b'Some "a"\nSome "\xc3\xa9"\n'), (5, b'Some "a"\nSome "\xc3\xa9"\n')):
            self.each(line * n, bad, 70, out, b"standard input is not valid UTF-8 in line 3")
        self.each(line + "print (stdin_lines ())", bad, 70, b'Some "a"\n', b"standard input is not valid UTF-8 in line 3")

    def test_the_next_read_goes_on_behind(self):
        entries = b"let a = read_line ()\nfirst\nlet b = read_line ()\n\xff\nlet c = read_line ()\nthird\nprint (a, c)\n"
        r = subprocess.run([EXE, "repl"], input=entries, capture_output=True, cwd=TMP.name, env=ENV, check=False, timeout=60)
        self.assertIn(b'(Some "first", Some "third")', r.stdout)
        self.assertIn(b"not valid UTF-8", r.stderr)

    def test_watch(self):
        """The derivative of `watch` writes what passes: cotangents, tangents, in loops, recursion, and derivatives of derivatives."""
        self.each('print (watch "x" 1.0)', b"", 0, b"1.0\n", b"")
        self.each('print "a"\nprint (grad (fun x -> 3.0 * watch "x" (x * x)) 2.0)', b"", 0, b"a\n12.0\n", b"x: 3.0\n")
        self.each('print (deriv (fun x -> 3.0 * watch "x" (x * x)) 2.0)', b"", 0, b"12.0\n", b"x: 4.0\n")
        loop = 'print (grad (fun x -> (let mut s = x in for i = 0 to 2 do s <- watch $"s{i}" (2.0 * s) done; s)) 1.0)'
        self.each(loop, b"", 0, b"8.0\n", b"s2: 1.0\ns1: 2.0\ns0: 4.0\n")
        rec = 'let rec p n x = if n = 0 then x else 2.0 * watch "r" (p (n - 1) x)\nprint (grad (p 2) 1.0)'
        self.each(rec, b"", 0, b"4.0\n", b"r: 2.0\nr: 4.0\n")
        self.each('print (grad (grad (fun x -> watch "x" (x ^ 3))) 2.0)', b"", 0, b"12.0\n", b"x: 1.0\n")
        pair = 'print (grad (fun (a, v) -> (let (b, w) = watch "p" (a, v) in b * sum w)) (2.0, [1.0]))'
        self.each(pair, b"", 0, b"(1.0, [2.0])\n", b"p: (1.0, [2.0])\n")

    def test_writing(self):
        self.each('write "a"; write ""; write "b\\n"; print 1.5; write "\\0"', b"", 0, b"ab\n1.5\n\0")
        self.each('eprint (1, "x")', b"", 0, b"", b'(1, "x")\n')

    def test_order_of_streams(self):
        text = 'write "a"\neprint "b"\nwrite "c"\neprint "d"\nwrite "e"'
        for mode in MODES:
            r = subprocess.run(command(text, mode), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=TMP.name, env=ENV, check=True)
            self.assertEqual(r.stdout, b"ab\ncd\ne")

    def test_output_before_a_read(self):
        for mode in MODES:
            p = self.started('write "name? "\nmatch read_line () with | Some l -> print l | None -> ()', mode, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.assertEqual(os.read(p.stdout.fileno(), 100), b"name? ")
            out, _ = p.communicate(b"x\n", timeout=60)
            self.assertEqual((out, p.returncode), (b"x\n", 0))

    def test_flush(self):
        for mode in MODES:
            p = self.started('write "a"\nflush ()\nlet l = read_file "/dev/stdin"\nprint l', mode, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.assertEqual(os.read(p.stdout.fileno(), 100), b"a")
            p.communicate(b"x", timeout=60)

    def test_output_of_what_ends_early(self):
        self.each('write "a"\nprint [1][2]', b"", 70, b"a", b"index 2")
        self.each('write "a"\nlet rec f n = 1 + f (n + 1)\nprint (f 1)', b"", 70, b"a", b"stack overflow")
        p = self.started('write "a"\nlet rec f n = if n < 0 then n else f (n + 1 - n % 2)\nprint (f 1)', "auto", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(0.5)
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=60)
        self.assertEqual((p.returncode, out), (70, b"a"), err)

    def test_exit(self):
        self.each('print 1; exit 3; print 2', b"", 3, b"1\n")
        self.each('let f x = if x > 1.0 then exit 4 else x * x\nprint (grad f 0.5)\nprint (grad f 2.0)\nprint 9', b"", 4, b"1.0\n")
        self.each('let rec f n = if n = 0 then exit 0 else 1 + f (n - 1)\nwrite "x"\nprint (f 1000)', b"", 0, b"x")
        self.each('for i = 0 to 9 do print i; if i = 1 then exit 255 done', b"", 255, b"0\n1\n")
        for n in (256, -1):
            self.each(f'exit ({n})', b"", 70, b"", f"an exit status is 0 to 255, but it is {n}".encode())

    def test_exit_of_prompt_and_tests(self):
        r = subprocess.run([EXE, "repl"], input=b"1\nexit 5\n2\n", capture_output=True, cwd=TMP.name, env=ENV, check=False, timeout=60)
        self.assertEqual((r.returncode, r.stdout, r.stderr), (5, "∇ it : int = 1\n∇ ".encode(), b""))
        r = subprocess.run([EXE, "test", script('test "a" = true\ntest "b" = exit 0\ntest "c" = true\n', "t.atl")], capture_output=True, cwd=TMP.name, env=ENV, check=False, timeout=60)
        self.assertEqual(r.returncode, 1)
        self.assertIn(b"called `exit`", r.stdout)

    def test_prompt_and_program_share_the_input(self):
        r = subprocess.run([EXE, "repl"], input=b"let l = read_line ()\nhello\nprint l\n", capture_output=True, cwd=TMP.name, env=ENV, check=False, timeout=60)
        self.assertIn(b'Some "hello"\n', r.stdout)

    def test_closed_pipe(self):
        """`yes | atled program | head -1`."""
        for mode in MODES:
            yes = subprocess.Popen(["yes"], stdout=subprocess.PIPE)
            p = self.started(ECHO, mode, stdin=yes.stdout, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            yes.stdout.close()
            head = subprocess.run(["head", "-1"], stdin=p.stdout, stdout=subprocess.PIPE, check=True)
            p.stdout.close()
            self.assertEqual(head.stdout, b'1: "y"\n')
            self.assertEqual(p.stderr.read(), b"")
            p.stderr.close()
            self.assertEqual(p.wait(60), -signal.SIGPIPE)
            self.assertEqual(yes.wait(60), -signal.SIGPIPE)

    def test_full_and_closed(self):
        for mode in MODES:
            with open("/dev/full", "wb") as full:
                r = subprocess.run(command('print 1\nflush ()\nwrite_file "late" ""', mode), stdout=full, stderr=subprocess.PIPE, cwd=TMP.name, env=ENV, check=False)
                self.assertEqual((r.returncode, r.stderr), (74, b"atled: can't write the output: No space left on device\n"))
                self.assertFalse(os.path.exists(os.path.join(TMP.name, "late")))
                r = subprocess.run(command('eprint 1\nprint 2', mode), stdout=subprocess.PIPE, stderr=full, cwd=TMP.name, env=ENV, check=False)
                self.assertEqual((r.returncode, r.stdout), (74, b""))
            r = subprocess.run(command("print (read_line ())", mode), capture_output=True, cwd=TMP.name, env=ENV, check=False, preexec_fn=lambda: os.close(0))
            self.assertEqual(r.returncode, 70)
            self.assertIn(b"can't read standard input: Bad file descriptor", r.stderr)
        r = subprocess.run(command("print (read_all ())", "off"), stdin=os.open(TMP.name, os.O_RDONLY), capture_output=True, env=ENV, cwd=TMP.name, check=False)
        self.assertIn(b"can't read standard input: Is a directory", r.stderr)

    def test_memory_of_messages(self):
        """A program that answers messages for long needs no more memory for that. A sanitizer keeps what was freed: little, here."""
        env = {**ENV, "ASAN_OPTIONS": ENV.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=0:thread_local_quarantine_size_kb=0"}
        for mode in ("off", "auto"):
            p = self.started(ANSWERS, mode, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            sizes = []
            for k in range(1, 401):
                p.stdin.write(b"".join(b'{"id": %d, "values": [1, 2.5, -3e4]}\n[%d, 2]\n{"broken": %d\n"text"\n%d\n' % (k, k, k, k) for _ in range(10)))
                p.stdin.flush()
                for _ in range(50):
                    p.stdout.readline()
                with open(f"/proc/{p.pid}/status", encoding="utf-8") as f:
                    sizes.append(int(re.search(r"VmRSS:\s*(\d+)", f.read())[1]))
            out, _ = p.communicate(timeout=60)
            self.assertEqual((p.returncode, out), (0, b"20000 messages\n"))
            self.assertLess(sizes[-1] - sizes[200], 1000, mode)

    def test_interrupted_read(self):
        for mode in MODES:
            p = self.started("print (read_line ())", mode, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            time.sleep(0.7)
            p.send_signal(signal.SIGINT)
            _, err = p.communicate(timeout=60)
            self.assertEqual(p.returncode, 70)
            self.assertIn(b"interrupted", err)

    def test_interrupted_write(self):
        """Into a pipe that is read slowly, or no longer: the program ends, and what is read are lines, none missing."""
        for mode in MODES:
            for reads in (True, False):
                p = self.started('for i = 0 to 10000000 do print $"line {i}" done', mode, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                out = b""
                end = time.monotonic() + 1
                while time.monotonic() < end:
                    out += os.read(p.stdout.fileno(), 1000)
                    time.sleep(0.01)
                p.send_signal(signal.SIGINT)
                while reads and (more := os.read(p.stdout.fileno(), 1000)):
                    out += more
                self.assertEqual(p.wait(60), 70)
                self.assertIn(b"interrupted", p.stderr.read())
                out += p.stdout.read()
                lines = out.split(b"\n")
                self.assertEqual(lines[:-1], [b"line %d" % i for i in range(len(lines) - 1)])
                self.assertTrue((b"line %d\n" % (len(lines) - 1)).startswith(lines[-1]) and not (reads and lines[-1]), lines[-1])
                p.stdout.close()
                p.stderr.close()

    def test_terminal(self):
        """Output without a line's end is seen at once."""
        master, slave = pty.openpty()
        p = self.started('write "a"\nlet rec f n = if n < 0 then n else f (n + 1 - n % 2)\nprint (f 1)', "off", stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        self.assertTrue(select.select([master], [], [], 30)[0])
        self.assertEqual(os.read(master, 100), b"a")
        p.kill()
        p.wait()
        os.close(master)


unittest.main()
