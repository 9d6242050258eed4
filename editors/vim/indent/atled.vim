" Vim indent file
" Language: Atled
" A line is indented by what the line above ends with, and by its own first word. Behind a blank line a new item begins in the
" first column, unless the line is indented already. `atled fmt` decides the layout in the end.

if exists('b:did_indent')
  finish
endif
let b:did_indent = 1

setlocal indentexpr=AtledIndent() indentkeys=o,O,0),0],0},0\|,0=done,0=else,0=and,0=in
setlocal nolisp nosmartindent noautoindent
let b:undo_indent = 'setlocal indentexpr< indentkeys< lisp< smartindent< autoindent<'

if exists('*AtledIndent')
  finish
endif

" The last line before this one that has more than a comment; 0: none.
function s:previous(lnum) abort
  let l:n = prevnonblank(a:lnum - 1)
  while l:n > 0 && getline(l:n) =~# '^\s*#'
    let l:n = prevnonblank(l:n - 1)
  endwhile
  return l:n
endfunction

" The indentation of the last line above that fits the pattern, and isn't indented more than this one.
function s:like(lnum, most, pattern, otherwise) abort
  let l:n = s:previous(a:lnum)
  while l:n > 0
    if getline(l:n) =~# a:pattern && indent(l:n) <= a:most
      return indent(l:n)
    endif
    let l:n = s:previous(l:n)
  endwhile
  return a:otherwise
endfunction

function AtledIndent() abort
  let l:above = s:previous(v:lnum)
  if l:above == 0 || (getline(v:lnum - 1) =~# '^\s*$' && getline(v:lnum) !~# '^\s')
    return 0
  endif
  let l:width = shiftwidth()
  let l:before = indent(l:above)
  let l:here = getline(v:lnum)
  let l:text = substitute(getline(l:above), '\s*#[^"]*$', '', '')
  if l:here =~# '^\s*done\>'
    return s:like(v:lnum, l:before, '\<\%(for\|while\)\>', max([0, l:before - l:width]))
  elseif l:here =~# '^\s*else\>'
    return s:like(v:lnum, l:before, '^\s*\%(else \)\?if\>\|\<if\>.*\<then\>', l:before)
  elseif l:here =~# '^\s*in\>'
    return s:like(v:lnum, l:before, '^\s*let\>', l:before)
  elseif l:here =~# '^\s*and\>'
    return s:like(v:lnum, l:before, '^\s*\%(let\|type\|and\)\>', 0)
  elseif l:here =~# '^\s*[)\]}]'
    return l:text =~# '[(\[{]\s*$' ? l:before : max([0, l:before - l:width])
  elseif l:here =~# '^\s*|[|>]\@!'
    return l:text =~# '\<with\s*$' ? l:before : s:like(v:lnum, l:before, '^\s*|[|>]\@!', l:before + l:width)
  elseif getline(v:lnum - 1) =~# '^\s*#'
    return indent(v:lnum - 1)
  elseif l:text =~# '\%(=\|->\|<-\|[(\[{]\|\<\%(do\|then\|else\)\)\s*$'
    return l:before + l:width
  endif
  return l:before
endfunction
