#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the colours of stdlib/Plot.atl's heat maps: every 17th of matplotlib's viridis."""
import matplotlib.pyplot

colours = matplotlib.pyplot.get_cmap("viridis").colors
rows = ["[" + ", ".join(str(round(255 * c)) for c in colours[17 * i]) + "]" for i in range(16)]
print(",\n".join("  " + ", ".join(rows[i:i + 6]) for i in range(0, 16, 6)) + "]")
