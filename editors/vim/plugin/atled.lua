-- Starts the language server for Atled programs in Neovim, unless `let g:atled_lsp = 0` says otherwise. Vim doesn't read
-- this file.
if vim.fn.has('nvim-0.7') == 0 then return end
vim.api.nvim_create_autocmd('FileType', {
  pattern = 'atled',
  group = vim.api.nvim_create_augroup('atled_lsp', {}),
  callback = function()
    if vim.g.atled_lsp ~= 0 and vim.g.atled_lsp ~= false then require('atled').start() end
  end,
})
