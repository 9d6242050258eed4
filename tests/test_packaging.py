#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Debian packages. `./dev package` makes them; lintian finds neither errors nor warnings; their dependencies, files and
hardening are what they should be; packing twice gives the same bytes. Unpacked into a folder that isn't the root, the program
runs and has machine code, and hosts are built by pkg-config and by CMake. dpkg installs them into an empty system, and nothing
is left once they are removed.

usage: test_packaging.py SOURCE_FOLDER BUILD_FOLDER
Status 77, which CTest shows as skipped: a tool is missing."""
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile

from cached_build import cached_build

source, build = map(os.path.abspath, sys.argv[1:3])
TOOLS = ("cpack", "dpkg", "dpkg-deb", "dpkg-gensymbols", "dpkg-shlibdeps", "file", "gzip", "lintian", "fakeroot", "readelf",
         "strings")
with open(f"{source}/CMakeLists.txt", encoding="utf-8") as rules:
    LIBRARY = "libatled" + re.search(r"SOVERSION (\d+)", rules.read())[1]
PACKAGES = ("atled", "atled-compiler", "libatled-dev", LIBRARY, "python3-atled")

missing = [tool for tool in TOOLS if not shutil.which(tool)]
if missing:
    print(f"skipped: there is no {', '.join(missing)}")
    sys.exit(77)

# Each package, and names of packages that it must depend on.
DEPENDS = {
    "atled": {"atled-compiler", "libc6", "libffi8", "libjansson4", "libpcre2-8-0", "libreadline8", "libsleef3"},
    "atled-compiler": {"binutils", "libc6", "libffi8", "libgccjit0", "libpcre2-8-0"},
    LIBRARY: {"atled-compiler", "libc6", "libffi8", "libpcre2-8-0", "libsleef3"},
    "libatled-dev": {LIBRARY, "libffi-dev", "libpcre2-dev"},
    "python3-atled": {LIBRARY, "python3", "python3-numpy"},
}
# Each package, and patterns of files that it must have, below /usr.
FILES = {
    "atled": ("bin/atled", "share/man/man1/atled.1.gz", "share/doc/atled/docs/tutorial.md", r"share/atled/editors/vscode/package\.json",
              r"share/atled/editors/vim/syntax/atled\.vim"),
    "atled-compiler": ("libexec/atled/atled-compiler", "libexec/atled/libatled_rt.a"),
    LIBRARY: (r"lib/.*libatled\.so\.\d+", r"lib/.*libatled\.so\.\d+\.\d+\.\d+"),
    "libatled-dev": (r"lib/.*libatled\.so", r"lib/.*libatled\.a", "include/atled.h", "include/atled.hpp", r"lib/.*/pkgconfig/atled\.pc",
                     r"lib/.*/cmake/atled/atled-config\.cmake", "share/doc/atled/examples/embed/hello.c",
                     "share/doc/atled/examples/ahead/fit.c"),
    "python3-atled": ("lib/python3/dist-packages/atled/__init__.py", "lib/python3/dist-packages/atled/kernel/kernel.py",
                      "lib/python3/dist-packages/atled/kernel/logo-svg.svg", "share/doc/python3-atled/examples/data_parallel.py"),
}
HOST = """cmake_minimum_required(VERSION 3.20)
project(host C)
find_package(atled REQUIRED)
foreach(kind static shared)
  add_executable(host_${kind} "%s/examples/embed/hello.c")
  target_link_libraries(host_${kind} PRIVATE atled::${kind})
endforeach()
"""
wrong = []


def check(condition, message):
    if not condition:
        wrong.append(message)


def run(*command, env=None, cwd=None, fails=False):
    r = subprocess.run(command, capture_output=True, text=True, env=env, cwd=cwd, timeout=900, check=False)
    if r.returncode != 0 and not fails:
        sys.exit(f"{' '.join(command)}: status {r.returncode}\n{r.stdout}{r.stderr}")
    return r.stdout + (r.stderr if fails else "")


def make():
    """The packages by name, in a folder of their own. Compiled as BUILD_FOLDER if that has a cache of what is compiled; else with little
    optimisation, which takes a third of the time. Packed with gzip: xz takes most of the time of packing."""
    env = dict(os.environ, ATLED_BUILD=f"{build}-tested")
    cached = cached_build(build)
    made = run(f"{source}/dev", "package", "-DCPACK_DEBIAN_COMPRESSION_TYPE=gzip", *(cached or ["-DCMAKE_C_FLAGS_RELEASE=-O1 -DNDEBUG"]), env=env).split()
    packages = {os.path.basename(path).split("_")[0]: path for path in made}
    check(sorted(packages) == sorted(PACKAGES), f"packages: {sorted(packages)}")
    return packages


def digests(packages):
    return {name: hashlib.sha256(open(path, "rb").read()).hexdigest() for name, path in packages.items()}


def check_control(packages):
    for name, path in packages.items():
        depends = {item.split()[0] for item in run("dpkg-deb", "-f", path, "Depends").split(",")}
        check(DEPENDS[name] <= depends, f"{name} doesn't depend on {DEPENDS[name] - depends}")
        check(("libreadline8" in depends) == (name == "atled"), f"{name}: {depends}")
    with tempfile.TemporaryDirectory() as folder:
        run("dpkg-deb", "-e", packages[LIBRARY], folder)
        names = set(os.listdir(folder))
        check(names == {"control", "md5sums", "shlibs", "symbols", "triggers"}, f"control files of {LIBRARY}: {sorted(names)}")
        symbols = open(f"{folder}/symbols", encoding="utf-8").read()
        exported = set(re.findall(r"^ (\w+)@", symbols, re.M))
        with open(f"{source}/include/atled.h", encoding="utf-8") as header:
            declared = set(re.findall(r"^ATLED_API [^(]*?(\w+)\(", header.read(), re.M))
        check(exported >= declared and declared, f"symbols lacks {declared - exported}")


def check_files(root, packages):
    owners = {}
    for name, path in packages.items():
        os.makedirs(f"{root}/{name}")
        run("dpkg", "-x", path, f"{root}/{name}")
        run("dpkg", "-x", path, f"{root}/all")
        files = [os.path.relpath(os.path.join(folder, file), f"{root}/{name}/usr")
                 for folder, _, names in os.walk(f"{root}/{name}") for file in names]
        for file in files:
            check(file not in owners, f"{file} is in {name} and {owners.get(file)}")
            owners[file] = name
        for pattern in (*FILES[name], f"share/doc/{name}/copyright", rf"share/doc/{name}/changelog\.gz"):
            check(any(re.fullmatch(pattern, file) for file in files), f"{name} has no {pattern}")


def check_binaries(root):
    """Hardened; and nothing in them tells where they were built."""
    binaries = [f"{root}/usr/bin/atled", f"{root}/usr/libexec/atled/atled-compiler",
                *glob.glob(f"{root}/usr/lib/**/libatled.so.[0-9]", recursive=True)]
    check(len(binaries) == 3, f"binaries: {binaries}")
    for path in binaries:
        dynamic = run("readelf", "-hldW", "--dyn-syms", path)
        for what, pattern in {"PIE": r"Type: +DYN", "RELRO": "GNU_RELRO", "stack protector": "__stack_chk_fail",
                              "fortified functions": "__[a-z]*printf_chk"}.items():
            check(re.search(pattern, dynamic), f"{path}: no {what}")
        check(not re.search("GNU_STACK .*RWE", dynamic), f"{path}: executable stack")
    check("NOW" in run("readelf", "-dW", binaries[1]), "atled-compiler is bound lazily")
    for path in binaries + glob.glob(f"{root}/usr/lib/**/libatled.a", recursive=True):
        check(source not in run("strings", path), f"{path} has the name of the source folder")


def check_use(root, work):
    usr = f"{root}/usr"
    pc = glob.glob(f"{usr}/lib/**/pkgconfig", recursive=True)[0]
    env = dict(os.environ, PKG_CONFIG_PATH=pc, ATLED_CACHE=work, LD_LIBRARY_PATH=os.path.dirname(pc))
    env.pop("ATLED_COMPILER", None)
    out = run(f"{usr}/bin/atled", "--jit=always", "-e", "grad (fun x -> x * x) 3.0", env=env)
    check(out.strip() == "6.0", f"atled printed {out!r}")
    run(f"{usr}/bin/atled", "build", f"{source}/examples/ahead/decay.atl", "-o", "libdecay.so", "--header", "decay.h",
        "--functions=loss,grad:loss", env=env, cwd=work)
    run("cc", "-I.", f"{source}/examples/ahead/fit.c", "libdecay.so", "-Wl,-rpath,.", "-lm", "-o", "fit", cwd=work)
    check("amplitude 2.000000" in run("./fit", cwd=work), "a library that is built ahead of time")
    run("sh", "-c", 'cc "$1" $(pkg-config --cflags --libs atled) -o hello', "sh", f"{source}/examples/embed/hello.c", env=env,
        cwd=work)
    check(run(f"{work}/hello", env=env) == "gradient 2 1 6\n", "hello.c by pkg-config")
    os.mkdir(f"{work}/host")
    with open(f"{work}/host/CMakeLists.txt", "w", encoding="utf-8") as f:
        f.write(HOST % source)
    run("cmake", "-S", f"{work}/host", "-B", f"{work}/host/out", f"-DCMAKE_PREFIX_PATH={usr}")
    run("cmake", "--build", f"{work}/host/out")
    for kind in ("static", "shared"):
        check(run(f"{work}/host/out/host_{kind}", env=env) == "gradient 2 1 6\n", f"hello.c by CMake, {kind}")


def check_python(root):
    """By the first Python that has NumPy; what installs the package has it, a machine that tests perhaps not."""
    usr = f"{root}/usr"
    library = glob.glob(f"{usr}/lib/**/{LIBRARY[:8]}.so.{LIBRARY[8:]}", recursive=True)[0]
    env = dict(os.environ, PYTHONPATH=f"{usr}/lib/python3/dist-packages", ATLED_LIBRARY=library)
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import numpy"], capture_output=True, check=False).returncode == 0:
            said = run(python, "-c", "import atled; print(atled.grad(atled.program('let f (x : float) = x * x').f)(3.0))", env=env)
            check(said == "6.0\n", f"Python printed {said!r}")
            return


def check_dpkg(work, packages):
    """Into a system that has nothing, not even what the packages depend on. The only script is that of the Python package:
    it removes what Python has compiled."""
    system = f"{work}/system"
    for folder in ("info", "updates", "triggers"):
        os.makedirs(f"{system}/var/lib/dpkg/{folder}")
    open(f"{system}/var/lib/dpkg/status", "w", encoding="utf-8").close()
    dpkg = ["fakeroot", "dpkg", f"--root={system}", f"--log={work}/log", "--force-depends", "--force-script-chrootless"]
    env = dict(os.environ, PATH=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    run(*dpkg, "-i", *packages.values(), env=env)
    check(os.path.exists(f"{system}/usr/bin/atled"), "dpkg installed nothing")
    for folder in glob.glob(f"{system}/usr/lib/python3/dist-packages/atled/**/", recursive=True):
        os.makedirs(f"{folder}/__pycache__")
        open(f"{folder}/__pycache__/module.pyc", "w", encoding="utf-8").close()
    run(*dpkg, "-P", *packages, env=env)
    left = [os.path.join(folder, file) for folder, _, names in os.walk(system) for file in names
            if "/var/lib/dpkg" not in folder]
    check(not left, f"left by removal: {left}")


packages = make()
first = digests(packages)
check(digests(make()) == first, "packing again gives other packages")
said = run("lintian", "--no-cfg", "--allow-root", "--fail-on", "error,warning", "--display-level", ">=warning", *packages.values(),
           fails=True)
check(not re.search(r"^[EW]: ", said, re.M), f"lintian:\n{said}")
check_control(packages)
with tempfile.TemporaryDirectory() as work:
    check_files(f"{work}/root", packages)
    check_binaries(f"{work}/root/all")
    check_use(f"{work}/root/all", work)
    check_python(f"{work}/root/all")
    check_dpkg(work, packages)
print("\n".join(wrong))
sys.exit(1 if wrong else 0)
