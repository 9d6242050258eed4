# SPDX-License-Identifier: MIT
"""`python3 -m atled.kernel install`: tells Jupyter of the kernel, by a folder with its description."""
import argparse
import json
import os
import pathlib
import shutil
import sys
import tempfile

from jupyter_client.kernelspec import KernelSpecManager

HERE = pathlib.Path(__file__).resolve().parent


def description():
    """How Jupyter starts the kernel. Where the package isn't installed, as in a checkout, the description says where it is."""
    quiet = ["-Xfrozen_modules=off"] if sys.version_info >= (3, 11) else []  # else debugpy, which ipykernel loads, warns
    found = {"argv": [sys.executable, *quiet, "-m", "atled.kernel", "-f", "{connection_file}"], "display_name": "Atled",
             "language": "atled", "interrupt_mode": "signal", "metadata": {"debugger": False}}
    env = {"ATLED_LIBRARY": os.path.abspath(os.environ["ATLED_LIBRARY"])} if os.environ.get("ATLED_LIBRARY") else {}
    folder = HERE.parents[1]
    if folder.name not in ("site-packages", "dist-packages"):
        env["PYTHONPATH"] = str(folder)
    return {**found, "env": env} if env else found


def parser():
    p = argparse.ArgumentParser(prog="python3 -m atled.kernel install", description="Tells Jupyter of Atled's kernel.")
    where = p.add_mutually_exclusive_group()
    where.add_argument("--user", action="store_true", help="for this user alone")
    where.add_argument("--sys-prefix", action="store_true", help="for this Python: a virtual or Conda environment")
    where.add_argument("--prefix", help="below this folder")
    p.add_argument("--name", default="atled", help="what Jupyter calls the kernel (atled)")
    p.add_argument("--display-name", help="what its users see (Atled)")
    return p


def install(arguments):
    options = parser().parse_args(arguments)
    spec = description()
    if options.display_name:
        spec["display_name"] = options.display_name
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "kernel.json").write_text(json.dumps(spec, indent=1) + "\n", encoding="utf-8")
        shutil.copy(HERE / "logo-svg.svg", folder)
        os.chmod(folder, 0o755)
        prefix = sys.prefix if options.sys_prefix else options.prefix
        try:
            place = KernelSpecManager().install_kernel_spec(folder, options.name, user=options.user, prefix=prefix)
        except (OSError, ValueError) as e:
            sys.exit(f"can't install the kernel's description: {e}; `--user` installs it for you alone")
    print(f"installed the kernel `{options.name}` in {place}")
