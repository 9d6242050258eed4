-- The language server `atled lsp` for Neovim, from 0.7 on.
local M = {}

local clients = {} -- root folder -> number of its client

-- The folder of the project that the file is part of: the nearest one with `.git`, else the file's own.
local function root_of(file)
  local folder = vim.fn.fnamemodify(file, ':p:h')
  local git = vim.fn.finddir('.git', vim.fn.escape(folder, ' ;,\\') .. ';')
  if git == '' then git = vim.fn.findfile('.git', vim.fn.escape(folder, ' ;,\\') .. ';') end
  return git ~= '' and vim.fn.fnamemodify(git, ':p:h:s?[/\\\\]\\.git$??') or folder
end

-- Keys and functions of a buffer that has the server, where nothing else has them.
local function attach(_, buffer)
  vim.api.nvim_buf_set_option(buffer, 'omnifunc', 'v:lua.vim.lsp.omnifunc')
  vim.api.nvim_buf_set_option(buffer, 'tagfunc', 'v:lua.vim.lsp.tagfunc')
  if vim.fn.mapcheck('K', 'n') == '' then
    vim.keymap.set('n', 'K', vim.lsp.buf.hover, { buffer = buffer, desc = 'Type and documentation' })
  end
end

-- Starts the server for the current buffer, or has the one that runs for its project serve it, too.
function M.start(options)
  local file = vim.api.nvim_buf_get_name(0)
  if file == '' or vim.bo.buftype ~= '' or vim.fn.executable('atled') == 0 then return end
  local root = root_of(file)
  local client = clients[root]
  if not client or not vim.lsp.get_client_by_id(client) then
    client = vim.lsp.start_client(vim.tbl_extend('force', {
      name = 'atled',
      cmd = { 'atled', 'lsp' },
      root_dir = root,
      workspace_folders = { { uri = vim.uri_from_fname(root), name = root } },
      on_attach = attach,
    }, options or {}))
    clients[root] = client
  end
  if client then vim.lsp.buf_attach_client(0, client) end
end

return M
