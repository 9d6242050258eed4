" Vim file type detection: Atled
" Vim itself takes *.atl for another language, Atlas: `set filetype` has the last word, `setfiletype` hasn't.
autocmd BufNewFile,BufRead *.atl set filetype=atled
autocmd BufNewFile,BufRead * if !did_filetype() && getline(1) =~# '^#!.*\<atled\>' | setfiletype atled | endif
