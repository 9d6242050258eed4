# SPDX-License-Identifier: MIT
"""The version of the package, which is the library's."""
VERSION = "0.3.0"
