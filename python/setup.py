# SPDX-License-Identifier: MIT
"""Puts the library and GCC's process, as `./dev build` makes them, into the package, so that a wheel is complete but for libgccjit
and PCRE2, which are the system's. ATLED_BUILD: the build folder, if it isn't ../build."""
import os
import pathlib
import shutil

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution

ROOT = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("ATLED_BUILD", ROOT.parent / "build"))
FILES = "lib/libatled.so.1", "libexec/atled/atled-compiler"


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        for file in FILES:
            if not (BUILD / file).exists():
                raise SystemExit(f"atled: there is no {BUILD / file}: build Atled first (./dev build)")
            to = pathlib.Path(self.build_lib) / "atled" / file
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(BUILD / file, to)


class WithLibrary(Distribution):
    def has_ext_modules(self):
        return True


try:
    from wheel.bdist_wheel import bdist_wheel

    class AnyPython(bdist_wheel):
        """The library is of this machine's kind, but of no version of Python."""

        def get_tag(self):
            return ("py3", "none", super().get_tag()[2])

    commands = {"build_py": BuildWithLibrary, "bdist_wheel": AnyPython}
except ImportError:
    commands = {"build_py": BuildWithLibrary}
setup(cmdclass=commands, distclass=WithLibrary)
