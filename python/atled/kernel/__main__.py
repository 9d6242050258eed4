# SPDX-License-Identifier: MIT
"""`python3 -m atled.kernel install …` tells Jupyter of the kernel; without `install` Jupyter starts it."""
import importlib.util
import sys


def main():
    if importlib.util.find_spec("ipykernel") is None:
        sys.exit("atled.kernel: the kernel needs ipykernel: `pip install ipykernel` (Debian: python3-ipykernel)")
    if sys.argv[1:2] == ["install"]:
        from .install import install
        install(sys.argv[2:])
        return
    from ipykernel.kernelapp import IPKernelApp

    from .kernel import AtledKernel
    IPKernelApp.launch_instance(kernel_class=AtledKernel)


if __name__ == "__main__":
    main()
