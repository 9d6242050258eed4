# SPDX-License-Identifier: MIT
"""A Jupyter kernel for Atled.

    python3 -m atled.kernel install --user     # tells Jupyter of it
    jupyter lab                                # or jupyter console --kernel atled, nbconvert, …

  session.py   the VM: cells as entries of a prompt, values, completion, documentation; knows nothing of Jupyter
  commands.py  lines that begin with a colon
  tables.py    arrays as HTML
  outbox.py    what a cell gives, on its way from the thread that evaluates to Jupyter's
  history.py   the cells that were evaluated
  kernel.py    Jupyter's messages, over ipykernel
  install.py   the kernel's description for Jupyter
  lexer.py     colours of source text for Pygments

Only kernel.py and install.py need packages of Jupyter, only lexer.py needs Pygments."""
