#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Uses the library as other projects do. It is installed to a folder that wasn't known when it was configured, and that
folder is moved afterwards; the examples of embedding are built against it through pkg-config, through CMake's
find_package, and as a part of another CMake project (add_subdirectory, and FetchContent of an archive), static and
shared, and run. Outside, both libraries show names of atled.h alone, so hosts may have a `load` or a `call` of their
own. hello.c is built by the command of its comment. The target `uninstall` leaves of an installation what was there before.

usage: test_embed.py SOURCE_FOLDER BUILD_FOLDER"""
import os
import re
import shlex
import subprocess
import sys
import tarfile
import tempfile

from cached_build import cached_build

source, build = map(os.path.abspath, sys.argv[1:3])
setting = [line.split("=", 1)[1].strip() for line in open(f"{build}/CMakeCache.txt", encoding="utf-8")
           if line.startswith("ATLED_SANITIZE:")][0]
sanitize = {"OFF": [], "thread": ["-fsanitize=thread"]}.get(setting, ["-fsanitize=address,undefined"])

# Each host, and what it prints.
HELLO, OWN_NAMES = f"{source}/examples/embed/hello.c", f"{source}/tests/embed/own_names.c"
HOSTS = {HELLO: "gradient 2 1 6", f"{source}/examples/embed/gradient.c": "slope", f"{source}/examples/embed/two_threads.c": "thread 1",
         f"{source}/examples/embed/sandbox.c": "\n".join([
             "12.0", "refused (denied): can't read \"/usr/share/../../etc/passwd\": the right to read files is granted for other folders only",
             "refused (denied): `write_file` needs the right to write files, which isn't granted",
             "refused (denied): `system` needs the right to call C functions, which isn't granted",
             "refused (time): the time limit is over", "refused (memory): out of memory for an array of 1000000000 elements", "again\n"]),
         f"{source}/examples/embed/server_threads.c": "\n".join([
             "1 60.6531", "2 -606.5307", "3 time: the time limit is over", "4 type-mismatch: expected float, found bool",
             "5 denied: `read_file` needs the right to read files, which isn't granted", "6 806.7761\n"]),
         f"{source}/examples/embed/server_fork.c": "\n".join([
             "1 499500.0", "2 0.0", "3 499500.0", "4 249750.0", "5 time: the time limit is over", "6 no answer", "7 1000\n"]),
         f"{source}/examples/embed/fit.cpp": "amplitude 2.000 decay 0.700 offset 0.500\nexpected {times : float[], values : float[]} -> float, "
                                              "found params -> float -> float\n",
         # computed with central differences in 60 digits
         f"{source}/examples/embed/host_function.c": "loss 50.984714 gradient -19.445797 110.731630 191.695003 -32.116807",
         f"{source}/examples/embed/inverse_kinematics.c":
             "the hand within 1 mm" if sanitize else "1000 ticks at 1 kHz: 0 allocations, the hand within 1 mm",
         OWN_NAMES: "slope 6, own 2 4 map 1 1"}

PROJECT = """cmake_minimum_required(VERSION 3.20)
project(host C CXX)
{library}
foreach(kind static shared)
  add_executable(host_${{kind}} "{host}")
  target_link_libraries(host_${{kind}} PRIVATE atled::${{kind}})
endforeach()
"""


def run(*command, env=None):
    r = subprocess.run(command, capture_output=True, text=True, env=env, timeout=600, check=False)
    if r.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {r.returncode}\n{r.stdout}{r.stderr}")
    return r.stdout


def check_names(library, *options):
    names = [line.split()[-1] for line in run("nm", "--defined-only", *options, library).splitlines() if " " in line]
    foreign = [name for name in names if not name.startswith(("atled_", "ATLED_", "__asan", "__odr_asan"))]
    if not names or foreign:
        sys.exit(f"{library} shows {len(foreign)} names without atled_: {foreign[:5]}")


def check_host(exe, expected, env):
    out = run(exe, env=env)
    if expected not in out:
        sys.exit(f"{exe} printed {out!r:.600}")


def configure_project(folder, library, host, *options):
    """A project of CMake's that takes the library as the given lines say, in a new folder."""
    os.mkdir(folder)
    with open(f"{folder}/CMakeLists.txt", "w", encoding="utf-8") as f:
        f.write(PROJECT.format(library=library, host=host))
    run("cmake", "-G", "Ninja", "-S", folder, "-B", f"{folder}/out", f"-DCMAKE_C_FLAGS={' '.join(sanitize)}", *options)


def build_project(folder, library, host, env, *options):
    configure_project(folder, library, host, f"-DCMAKE_CXX_FLAGS={' '.join(sanitize)}", *options)
    run("cmake", "--build", f"{folder}/out")
    for kind in ("static", "shared"):
        check_host(f"{folder}/out/host_{kind}", HOSTS[host], env)


def check_pkg_config(work, env):
    flags = shlex.split(run("pkg-config", "--cflags", "--libs", "atled", env=env))
    private = shlex.split(run("pkg-config", "--static", "--cflags", "--libs", "atled", env=env))
    static = ["-l:libatled.a" if flag == "-latled" else flag for flag in private]
    libdir = os.path.dirname(env["PKG_CONFIG_PATH"])
    compilers = {".c": ["gcc", "-std=c17"], ".cpp": ["g++", "-std=c++17"]}
    for host, expected in HOSTS.items():
        for kind, libraries in (("shared", flags), ("static", static)):
            exe = f"{work}/{os.path.basename(host)}.{kind}"
            run(*compilers[os.path.splitext(host)[1]], "-Wall", "-Wextra", "-Werror", host, "-o", exe, *libraries, "-lpthread", "-lm", *sanitize)
            linked = "libatled" in run("ldd", exe, env=env)
            if linked != (kind == "shared"):
                sys.exit(f"{exe} isn't {kind}: {libraries}")
            check_host(exe, expected, env)
    header = f"{work}/header.cpp"
    with open(header, "w", encoding="utf-8") as f:
        f.write("#include <atled.h>\nint main() { return atled_version() == nullptr; }\n")
    run("g++", "-Wall", "-Wextra", "-Werror", header, "-o", f"{work}/header", *flags, env=env)
    check_names(f"{libdir}/libatled.a", "-g")
    check_names(f"{libdir}/libatled.so", "-D")


def check_minimiser(work, env):
    """The example with NLopt, where that is installed."""
    if subprocess.run(["pkg-config", "--exists", "nlopt"], check=False).returncode:
        print("curve_fit.c is left out: NLopt isn't installed (Debian: libnlopt-dev)")
        return
    flags = shlex.split(run("pkg-config", "--cflags", "--libs", "atled", "nlopt", env=env))
    exe = f"{work}/curve_fit"
    run("gcc", "-std=c17", "-Wall", "-Wextra", "-Werror", f"{source}/examples/embed/curve_fit.c", "-o", exe, *flags, "-lm", *sanitize,
        env=env)
    check_host(exe, "2.0000 exp (-0.5000 t) + 1.0000", env)


def check_hello(work, prefix):
    """The shortest host, by the command that its comment gives, and an rpath: no environment at run time."""
    command = 'cc "$HELLO" $(pkg-config --cflags --libs atled) -Wl,-rpath,$(pkg-config --variable=libdir atled) -o hello "$@"'
    with open(HELLO, encoding="utf-8") as f:
        if len(f.readlines()) >= 25:
            sys.exit(f"{HELLO} has 25 lines or more")
    pc = [folder for folder, _, files in os.walk(prefix) if "atled.pc" in files]
    run("sh", "-c", f'cd "$WORK" && {command}', "sh", *sanitize,
        env=dict(os.environ, PKG_CONFIG_PATH=pc[0], WORK=work, HELLO=HELLO))
    check_host(f"{work}/hello", HOSTS[HELLO], dict(os.environ, ATLED_CACHE=work))


def all_below(folder):
    return sorted(os.path.join(path, name) for path, folders, files in os.walk(folder) for name in folders + files)


def check_uninstall(work):
    """Into a folder where one of the folders exists, and another with a file: they and the file stay."""
    prefix = f"{work}/used"
    os.makedirs(f"{prefix}/include")
    os.makedirs(f"{prefix}/share/man")
    open(f"{prefix}/share/man/other", "w", encoding="utf-8").close()
    before = all_below(prefix)
    for _ in range(2):  # what is there already at the second time was made by the first
        run("cmake", "--install", build, "--prefix", prefix)
    if len(all_below(prefix)) < len(before) + 20:
        sys.exit(f"installed: {all_below(prefix)}")
    run("cmake", "--build", build, "--target", "uninstall")
    if all_below(prefix) != before:
        sys.exit(f"`uninstall` leaves {sorted(set(all_below(prefix)) ^ set(before))}")


def without_records(action, *arguments):
    """Runs the action and leaves the build folder's records of an installation, which `uninstall` needs, as they were."""
    records = [f"{build}/install_{name}.txt" for name in ("manifest", "folders")]
    kept = {}
    for name in records:
        if os.path.exists(name):
            kept[name] = open(name, "rb").read()
            os.remove(name)
    try:
        action(*arguments)
    finally:
        for name in records:
            if name in kept:
                with open(name, "wb") as f:
                    f.write(kept[name])
            elif os.path.exists(name):
                os.remove(name)


def make_archive(path):
    """The sources as a release has them."""
    with tarfile.open(path, "w:gz") as archive:
        for name in ("CMakeLists.txt", "cmake", "compiler", "docs", "examples", "include", "repl", "src", "stdlib"):
            archive.add(f"{source}/{name}", f"atled/{name}")


def check_fetched(work):
    """FetchContent is add_subdirectory of what it fetched, which is built elsewhere: here all files have to be there."""
    make_archive(f"{work}/atled.tar.gz")
    configure_project(f"{work}/fetched", f"""include(FetchContent)
FetchContent_Declare(atled URL "file://{work}/atled.tar.gz" DOWNLOAD_EXTRACT_TIMESTAMP ON)
FetchContent_MakeAvailable(atled)""", OWN_NAMES)
    steps = run("ninja", "-C", f"{work}/fetched/out", "-t", "commands", "host_static", "host_shared")
    fetched = re.findall(r"\S*/_deps/atled-src/\S+\.c\b", steps)
    missing = sorted({path for path in fetched if not os.path.exists(path)})
    if len(fetched) < 100 or missing:
        sys.exit(f"FetchContent: {len(fetched)} files are compiled, missing are {missing[:5]}")


def check_part(work, env):
    """As a part of another project, compiled as BUILD_FOLDER if that has a cache, else without optimisation."""
    options = cached_build(build) or ["-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS_DEBUG=-O0"]
    build_project(f"{work}/part", f'add_subdirectory("{source}" atled)', OWN_NAMES, env, *options)


def install(work):
    run("cmake", "--install", build, "--prefix", f"{work}/first")


with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as work:
    without_records(check_uninstall, work)
    without_records(install, work)
    check_hello(work, f"{work}/first")
    first, prefix = f"{work}/first", f"{work}/an odd prefix"
    os.rename(first, prefix)
    folders = [folder for folder, _, files in os.walk(prefix) if "atled.pc" in files]
    environment = dict(os.environ, PKG_CONFIG_PATH=folders[0], LD_LIBRARY_PATH=os.path.dirname(folders[0]),
                       XDG_CACHE_HOME=work, ATLED_CACHE=work)
    check_pkg_config(work, environment)
    check_minimiser(work, environment)
    for name, host in (("package", OWN_NAMES), ("package of C++", f"{source}/examples/embed/fit.cpp")):
        build_project(f"{work}/{name}", "find_package(atled 0.3 REQUIRED)", host, environment, f"-DCMAKE_PREFIX_PATH={prefix}")
    if not sanitize:
        check_part(work, environment)
        check_fetched(work)
