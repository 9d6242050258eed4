#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files of bytes: what Npy writes, NumPy reads (where it is there); bytes of pipes; no partial file is left.

usage: test_data_files.py ATLED"""
import os
import resource
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy
except ImportError:
    numpy = None
ATLED = None
WRITES = """
Npy.write "vector.npy" [1.5, nan, -inf]
Npy.write "cube.npy" [[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]]
Npy.write_as (Bytes.Float 4) "single.npy" [[0.1, 0.2]]
Npy.write_ints (Bytes.Int 2) [2, 2] "ints.npy" [1, -2, 3, -4]
Npy.write_ints (Bytes.UInt 1) [3] "bytes.npy" [0, 7, 255]
Npy.write "empty.npy" (zeros [0, 3] : float[][])
"""


def run(program, stdin=b"", **more):
    with open("p.atl", "w") as f:
        f.write(program)
    r = subprocess.run([ATLED, "--jit=off", "p.atl"], input=stdin, capture_output=True, timeout=60, **more)
    return r.returncode, r.stdout.decode(), r.stderr.decode()


class DataFiles(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        os.chdir(self.folder.name)

    def tearDown(self):
        os.chdir("/")
        self.folder.cleanup()

    @unittest.skipUnless(numpy, "no NumPy")
    def test_numpy_reads_what_is_written(self):
        self.assertEqual(run(WRITES), (0, "", ""))
        for name, want in [("vector", numpy.array([1.5, numpy.nan, -numpy.inf])),
                           ("cube", numpy.array([[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]])),
                           ("single", numpy.array([[0.1, 0.2]], dtype="f4")), ("ints", numpy.array([[1, -2], [3, -4]], dtype="<i2")),
                           ("bytes", numpy.array([0, 7, 255], dtype="u1")), ("empty", numpy.zeros((0, 3)))]:
            got = numpy.load(name + ".npy")
            self.assertEqual((got.dtype, got.shape), (want.dtype, want.shape), name)
            self.assertTrue(numpy.array_equal(got, want, equal_nan=want.dtype.kind == "f"), name)

    def test_pipes(self):
        self.assertEqual(run('print (Bytes.to_array (read_bytes "/dev/stdin" 0 4))', b"\1\2\3\4\5")[:2], (0, "[1, 2, 3, 4]\n"))
        status, out, error = run('print (read_bytes "/dev/stdin" 0 10)', b"abcd")
        self.assertEqual((status, out), (70, ""))
        self.assertIn('"/dev/stdin" ends after 4 of the 10 bytes that are to be read', error)
        self.assertIn("can't read", run('print (read_bytes "/dev/stdin" 2 1)', b"abcd")[2])

    def test_a_full_disk_leaves_the_file(self):
        with open("kept.bin", "wb") as f:
            f.write(b"as it was")
        status, _, error = run('write_bytes "kept.bin" (Bytes.of_array (replicate 100000 1))',
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50000, 50000)))
        self.assertEqual(status, 70, error)
        self.assertIn("can't write \"kept.bin\"", error)
        with open("kept.bin", "rb") as f:
            self.assertEqual(f.read(), b"as it was")
        self.assertEqual(sorted(os.listdir(".")), ["kept.bin", "p.atl"])


if __name__ == "__main__":
    ATLED = os.path.abspath(sys.argv.pop(1))
    os.environ["XDG_CACHE_HOME"] = "/nonexistent"
    unittest.main()
