" Vim file type plugin
" Language: Atled

if exists('b:did_ftplugin')
  finish
endif
let b:did_ftplugin = 1
let s:cpo_save = &cpo
set cpo&vim

setlocal comments=s0:(*,mb:\ ,ex:*),:# commentstring=#\ %s formatoptions-=t formatoptions+=croql
setlocal iskeyword=@,48-57,_,39,128-255
setlocal expandtab shiftwidth=2 softtabstop=2 textwidth=100
setlocal suffixesadd=.atl include=^import define=^let\\s\\+\\%(rec\\s\\+\\)\\?
setlocal matchpairs=(:),[:],{:}
setlocal formatprg=atled\ fmt\ -
setlocal makeprg=atled\ check\ %:S

" Errors, warnings and notes, whose columns count characters; their hints; failed tests; the calls of a run-time error.
" The lines with the source and its underlining are left out.
let &l:errorformat = join([
      \ '%E%f:%l:%v: error: %m',
      \ '%W%f:%l:%v: warning: %m',
      \ '%N%f:%l:%v: note: %m',
      \ '%EFAILED %f:%l: %m',
      \ '%I  called from %f:%l:%v',
      \ '%+Chint: %m',
      \ '%-C%*\s%*\d |%.%#',
      \ '%-C%*\s|%.%#',
      \ '%-G%.%#'], ',')

" Formats the buffer, and leaves it alone if the program has an error, which it shows.
if !exists('*s:format')
  function s:format() abort
    let l:out = systemlist('atled fmt -', getline(1, '$'))
    if v:shell_error
      echohl ErrorMsg | echomsg get(l:out, 0, 'atled fmt failed') | echohl None
      return
    endif
    let l:view = winsaveview()
    if l:out !=# getline(1, '$')
      call setline(1, l:out)
      if line('$') > len(l:out)
        silent execute (len(l:out) + 1) . ',$delete _'
      endif
    endif
    call winrestview(l:view)
  endfunction
endif
command! -buffer AtledFormat call s:format()

let b:undo_ftplugin = 'setlocal comments< commentstring< formatoptions< iskeyword< expandtab< shiftwidth< softtabstop< textwidth<'
      \ . ' suffixesadd< include< define< matchpairs< formatprg< makeprg< errorformat< | delcommand -buffer AtledFormat'

let &cpo = s:cpo_save
unlet s:cpo_save
