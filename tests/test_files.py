#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files as a program writes them, and the terminal's width: a file is whole or as it was before.

usage: test_files.py EXE"""
import fcntl
import os
import pty
import resource
import struct
import subprocess
import sys
import tempfile
import termios
import unittest

from screen import Screen

EXE = os.path.abspath(sys.argv.pop(1))


def all_of(leader):
    """What was written to a terminal that nobody writes to any more."""
    told = b""
    while True:
        try:
            more = os.read(leader, 10000)
        except OSError:  # the other side is closed
            return told
        told += more


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "out.txt")

    def run_text(self, text, path=None, limit=None, **more):
        script = text.replace("PATH", '"' + (path or self.path) + '"')
        command = [EXE, "--jit=off", "-e", script]
        bound = (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))) if limit else None
        return subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=bound, **more)

    def content(self, path=None):
        with open(path or self.path, encoding="utf-8") as file:
            return file.read()

    def only(self, *names):
        self.assertEqual(sorted(os.listdir(self.folder.name)), sorted(names))

    def test_new_file_has_the_usual_permissions(self):
        self.assertEqual(self.run_text('write_file PATH "new"', umask=0o027).returncode, 0)
        self.assertEqual(self.content(), "new")
        self.assertEqual(os.stat(self.path).st_mode & 0o777, 0o640)
        self.only("out.txt")

    def test_permissions_are_kept(self):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("old")
        os.chmod(self.path, 0o751)
        self.run_text('write_file PATH "new"')
        self.assertEqual((self.content(), os.stat(self.path).st_mode & 0o777), ("new", 0o751))

    def test_a_reader_keeps_the_old_file(self):
        with open(self.path, "w+", encoding="utf-8") as file:
            file.write("old")
            file.flush()
            self.run_text('write_file PATH "new"')
            file.seek(0)
            self.assertEqual((file.read(), self.content()), ("old", "new"))

    def test_links(self):
        link, second = os.path.join(self.folder.name, "link"), os.path.join(self.folder.name, "second")
        os.symlink("out.txt", link)
        self.run_text('write_file PATH "through"', path=link)  # to a file that doesn't exist yet
        self.assertTrue(os.path.islink(link))
        self.run_text('write_file PATH "again"', path=link)
        self.assertTrue(os.path.islink(link))
        self.assertEqual(self.content(), "again")
        os.link(self.path, second)
        self.run_text('write_file PATH "both"')
        self.assertEqual((self.content(), self.content(second)), ("both", "both"))
        self.only("link", "out.txt", "second")

    def test_a_failed_write_leaves_the_old_file(self):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("old")
        long = 'write_file PATH (Str.join "0123456789" (replicate 1000 ""))'
        r = self.run_text(long, limit=4096)
        self.assertNotEqual(r.returncode, 0)
        self.assertIn("can't write", r.stderr)
        self.assertEqual(self.content(), "old")
        self.only("out.txt")
        os.remove(self.path)
        self.run_text(long, limit=4096)
        self.only()

    def test_a_failed_append_leaves_the_old_file(self):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("old")
        self.run_text('append_file PATH (Str.join "0123456789" (replicate 1000 ""))', limit=4096)
        self.assertEqual(self.content(), "old")
        self.run_text('append_file PATH " more"', limit=4096)
        self.assertEqual(self.content(), "old more")

    def test_what_is_no_file(self):
        r = self.run_text('write_file PATH "x"', path=self.folder.name)
        self.assertIn("can't write", r.stderr)
        r = self.run_text('write_file PATH "x"', path=os.path.join(self.folder.name, "none", "x"))
        self.assertIn("No such file or directory", r.stderr)
        with open(self.path, "w", encoding="utf-8") as out:
            subprocess.run([EXE, "-e", 'write_file "/dev/stdout" "device"'], stdout=out, check=True)
        self.assertIn("device", self.content())

    def test_width_of_the_terminal(self):
        env = {k: v for k, v in os.environ.items() if k != "COLUMNS"}
        self.assertEqual(self.run_text("print (terminal_width ())", env=env).stdout, "80\n")
        self.assertEqual(self.run_text("print (terminal_width ())", env={**env, "COLUMNS": "37"}).stdout, "37\n")
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 133, 0, 0))
        subprocess.run([EXE, "--jit=off", "-e", "print (terminal_width ())"], stdout=follower, env=env, check=True)
        self.assertEqual(os.read(leader, 100).strip(), b"133")
        os.close(leader)
        os.close(follower)

    def test_progress_on_a_terminal(self):
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 30, 0, 0))
        text = 'let r = Progress.loop "sums" 40 (fun i t -> (if i = 9 then eprint "here"); t + i) 0\nprint [ i | i < r ][780]'
        env = {k: v for k, v in os.environ.items() if k != "COLUMNS"}
        subprocess.run([EXE, "--jit=off", "--color=never", "-e", text], stdout=follower, stderr=follower, env=env, check=False)
        os.close(follower)
        screen = Screen(30)
        screen.feed(all_of(leader).decode())
        self.assertRegex("\n".join(screen.text()[:3]), r"^here\nsums: 40 of 40, 0\.\d s, 0\.\d s\n<expr>:2:21: error: index 780$")
        os.close(leader)


if __name__ == "__main__":
    unittest.main()
