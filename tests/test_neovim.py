#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The language server with Neovim as its client, and the plugin of editors/vim: a file is edited by keys as a person
would type them.

usage: test_neovim.py ROOT EXE

Exit status 77, which is skipped, where there is no Neovim from 0.7 on."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SCRIPT = r"""
local found = {}
local function finish()
  local f = io.open(os.getenv('OUT'), 'w')
  f:write(vim.fn.json_encode(found))
  f:close()
  vim.cmd('qall!')
end
local function wait_for(what, true_)
  if not vim.wait(20000, true_, 20) then
    error('there is not: ' .. what .. '; found ' .. vim.inspect(vim.diagnostic.get(0)))
  end
end
local function type_keys(keys)
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes(keys, true, false, true), 'xt', false)
end
local function messages()
  local all = {}
  for _, d in ipairs(vim.diagnostic.get(0)) do
    table.insert(all, d.lnum .. ':' .. d.col .. ':' .. d.severity .. ': ' .. d.message:match('[^\n]*'))
  end
  table.sort(all)
  return all
end
local function request(method, params)
  local answers = vim.lsp.buf_request_sync(0, 'textDocument/' .. method, params, 20000)
  for _, a in pairs(answers or {}) do return a.result end
end
local function at(line, column)
  vim.api.nvim_win_set_cursor(0, { line, column })
  return vim.lsp.util.make_position_params(0, 'utf-16')
end

local function edit()
wait_for('the server to start', function() return #vim.lsp.buf_get_clients(0) > 0 or next(vim.lsp.buf_get_clients(0)) ~= nil end)
found.options = { vim.bo.omnifunc, vim.bo.tagfunc, vim.bo.filetype }
wait_for('no diagnostics', function() return #vim.diagnostic.get(0) == 0 end)

-- A line is added that has an error, behind characters of two UTF-16 units; then it is mended.
type_keys('Golet s = "😀∂" + 1<Esc>')
wait_for('an error', function() return #vim.diagnostic.get(0) == 1 end)
found.error = messages()
type_keys('$r2')
type_keys('F+r>')
wait_for('a syntax error', function() return #vim.diagnostic.get(0) >= 1 and vim.diagnostic.get(0)[1].message ~= found.error end)
type_keys('ddGolet last = [1.0, 2.0][2]<Esc>')
wait_for('what elaboration finds', function()
  return #vim.diagnostic.get(0) == 1 and messages()[1]:find('index') ~= nil
end)
found.elaborated = messages()
type_keys('dd')
wait_for('nothing wrong', function() return #vim.diagnostic.get(0) == 0 end)

local hover = request('hover', at(2, 10))
found.hover = hover and hover.contents.value
local definition = request('definition', at(2, 19))
found.definition = definition and { definition.uri:match('[^/]*$'), definition.range.start.line }
vim.api.nvim_win_set_cursor(0, { 2, 19 })
type_keys('<C-]>')
found.jumped = { vim.fn.expand('%:t'), vim.fn.line('.'), vim.fn.col('.') }
vim.cmd('edit ' .. os.getenv('FILE'))
vim.cmd('tjump twice')
found.symbol = { vim.fn.expand('%:t'), vim.fn.line('.'), vim.fn.col('.') }
vim.cmd('edit ' .. os.getenv('FILE'))
vim.api.nvim_win_set_cursor(0, { 2, 10 })
type_keys('K')
wait_for('a window with the type', function() return #vim.api.nvim_list_wins() == 2 end)
for _, w in ipairs(vim.api.nvim_list_wins()) do
  if w ~= vim.api.nvim_get_current_win() then
    found.window = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(w), 0, -1, false)
    vim.api.nvim_win_close(w, true)
  end
end

-- Renaming changes both files.
vim.api.nvim_win_set_cursor(0, { 2, 19 })
vim.lsp.buf.rename('doubled')
wait_for('renamed', function() return vim.fn.getline(2):find('doubled') ~= nil end)
found.main = vim.fn.getline(1, '$')
vim.cmd('edit ' .. os.getenv('OTHER'))
found.other = vim.fn.getline(1, '$')
vim.cmd('buffer ' .. os.getenv('FILE'))

-- Completion, then formatting, when Neovim has sent the changes of the other file: it waits 150 ms with that.
vim.wait(500)
type_keys('Golet   far=are<Esc>')
local place = at(3, 12)
place.position.character = 13 -- behind the last letter, where the cursor can't be now
local completion = request('completion', place)
local items = vim.lsp.util.text_document_completion_list_to_complete_items(completion, 'are')
found.items = { #items, items[1] and items[1].word, items[1] and completion.items[1].detail }
vim.lsp.util.apply_text_edits({ completion.items[1].textEdit }, 0, 'utf-16')
found.completed = vim.fn.getline('$')
local edits = request('formatting', vim.lsp.util.make_formatting_params())
if edits then vim.lsp.util.apply_text_edits(edits, 0, 'utf-16') end
found.formatted = vim.fn.getline('$')
end
local good, why = pcall(edit)
if not good then found.failed = why end
finish()
"""
MODEL = "# Doubles.\nlet twice x = x + x\n"
MAIN = "import \"model.atl\" as Model\nlet area r = Model.twice r + 1.0\n"


def run(root, exe, folder):
    (folder / "model.atl").write_text(MODEL)
    (folder / "main.atl").write_text(MAIN)
    (folder / "script.lua").write_text(SCRIPT)
    (folder / "bin").mkdir()
    (folder / "bin" / "atled").symlink_to(exe)
    out = folder / "out.json"
    env = {**os.environ, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config"), "XDG_DATA_HOME": str(folder / "data"),
           "XDG_STATE_HOME": str(folder / "state"), "XDG_CACHE_HOME": str(folder / "cache"), "OUT": str(out), "FILE": str(folder / "main.atl"),
           "OTHER": str(folder / "model.atl"), "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    done = subprocess.run(["nvim", "--headless", "--clean", "--cmd", f"set runtimepath^={root / 'editors' / 'vim'}", "--cmd", "set hidden noswapfile",
                           str(folder / "main.atl"), "-c", f"luafile {folder / 'script.lua'}"],
                          env=env, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    return (json.loads(out.read_text()) if out.exists() else {}), done.stdout + done.stderr


def main():
    root, exe = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    nvim = shutil.which("nvim")
    version = subprocess.run([nvim, "--version"], capture_output=True, text=True).stdout.split("\n")[0] if nvim else ""
    if not nvim or tuple(map(int, version.split("v")[1].split("-")[0].split(".")[:2])) < (0, 7):
        print("skipped: there is no Neovim from 0.7 on (Debian: neovim)")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        found, output = run(root, exe, pathlib.Path(folder).resolve())
    doubled = [line.replace("twice", "doubled") for line in MAIN.split("\n")[:-1]]
    expected = {
        "options": ["v:lua.vim.lsp.omnifunc", "v:lua.vim.lsp.tagfunc", "atled"],
        "hover": "```atled\nr : float\n```",
        "definition": ["model.atl", 1],
        "jumped": ["model.atl", 2, 5],
        "symbol": ["model.atl", 2, 5],
        "window": ["r : float"],
        "main": doubled,
        "other": MODEL.replace("twice", "doubled").split("\n")[:-1],
        "items": [1, "area", "float -> float"],
        "completed": "let   far=area",
        "formatted": "let far = area",
    }
    wrong = {name: found.get(name) for name, value in expected.items() if found.get(name) != value}
    # Neovim's columns are bytes: `1` stands behind `let s = "😀∂" + `.
    error, elaborated = found.get("error", [""])[0], found.get("elaborated", [""])[0]
    column = len('let s = "😀∂" + '.encode())
    if not error.startswith(f"2:{column}:1: "):
        wrong["error"] = error
    if not elaborated.startswith("2:22:1: ") or "index 2" not in elaborated:
        wrong["elaborated"] = elaborated
    print(version)
    if wrong or "failed" in found:
        raise SystemExit(f"wrong: {wrong}\nfound: {found}\n{output}")


if __name__ == "__main__":
    main()
