" Vim syntax file
" Language: Atled
" Words, symbols and names of types are made from the compiler's tables; the rest is written by hand.

if exists('b:current_syntax')
  finish
endif
let s:cpo_save = &cpo
set cpo&vim

syn case match
syn iskeyword @,48-57,_,39,128-255
syn sync minlines=300

" Of matches that begin at one place Vim takes the one that is defined last; a keyword before all of them.

" A name is taken as a whole, so that nothing begins within it.
syn match atledName "\v%([a-z]|_[A-Za-z0-9_']@=|[^\x00-\x7F])%([A-Za-z0-9_']|[^\x00-\x7F])*"
syn match atledConstructor "\v[A-Z]%([A-Za-z0-9_']|[^\x00-\x7F])*"
syn match atledModule "\v[A-Z]%([A-Za-z0-9_']|[^\x00-\x7F])*\ze\s*\."
syn match atledTypeVariable "\v'[a-z_][A-Za-z0-9_']*"

" BEGIN: made by make_grammars.py
syn keyword atledDefinition let rec mut and in type of as
syn keyword atledFunction fun
syn keyword atledConditional if then else match with when
syn keyword atledLoop for to downto while do done break
syn keyword atledBoolean true false
syn match atledItem "\v^%(import|open|foreign|test|pullback|tangent|rule)>'@!\ze\s+%([A-Za-z_\"$]|[^\x00-\x7F])"
syn match atledItem "\v^bench\ze\s+%(r\"[^\"]*\"|\"%([^\"\\]|\\.)*\")\s*\="
syn keyword atledKnownType contained int float bool string unit list option result bytes
syn match atledOperator "\V:\|_\||"
syn match atledOperator "\V%\|*\|+\|-\|/\|@\|^"
syn match atledOperator "\V<\|=\|>"
syn match atledNoOperator "\V!=\|=="
syn match atledOperator "\V.."
syn match atledOperator "\V++\|::"
syn match atledOperator "\V<|\|>>\||>"
syn match atledOperator "\V**"
syn match atledOperator "\V&&\|||"
syn match atledOperator "\V<=\|<>\|>=\|~="
syn match atledOperator "\V->\|=>"
syn match atledOperator "\V*=\|+=\|-=\|/=\|<-"
hi def link atledDefinition Keyword
hi def link atledFunction Keyword
hi def link atledConditional Conditional
hi def link atledLoop Repeat
hi def link atledBoolean Boolean
hi def link atledItem Keyword
hi def link atledKnownType Type
hi def link atledOperator Operator
hi def link atledNoOperator Error
" END

" Numbers: the first that fits is defined last.
syn match atledBadNumber "\v[0-9]%([A-Za-z0-9_']|[^\x00-\x7F])*"
syn match atledNumber "\v[0-9][0-9_]*%([A-Za-z0-9_']|[^\x00-\x7F])@!"
syn match atledNumber "\v[0-9][0-9_]*%(\.\.@![0-9_]*%([eE][+-]?[0-9][0-9_]*)?|[eE][+-]?[0-9][0-9_]*)%([A-Za-z0-9_']|[^\x00-\x7F])@!"
syn match atledNumber "\v0[xX][0-9A-Fa-f][0-9A-Fa-f_]*%([A-Za-z0-9_']|[^\x00-\x7F])@!"

" Types, behind a colon up to a token that no type holds, or to the end of the line.
syn cluster atledInType contains=@atledComments,@atledStrings,atledNumber,atledTypeVariable,atledKnownType,atledTypeBrackets,atledConstructor,atledModule,atledName,@atledWords,atledOperator
syn region atledAnnotation matchgroup=atledOperator start=":\@1<!::\@!" matchgroup=NONE end="\ze\%([),};|\]]\|=>\@!\|\<\%(in\|then\|with\|do\|as\)\>\)" end="$" contains=@atledInType transparent
syn match atledArray "\[\s*\]" contained containedin=atledAnnotation,atledTypeBrackets,atledTypeDeclaration
syn region atledTypeBrackets start="(\*\@!" end=")" contained contains=@atledInType transparent
syn region atledTypeBrackets start="{" end="}" contained contains=@atledInType transparent
" A declaration goes on to the next item.
syn region atledTypeDeclaration matchgroup=atledDefinition start="^type\>'\@!" matchgroup=NONE end="\v^%([[:space:]|)}\]=*#-]|\(\*|%(and|of|as)>|$)@!" contains=@atledInType transparent

syn keyword atledTodo contained TODO FIXME XXX NOTE
syn match atledLineComment "#.*$" contains=atledTodo,@Spell
syn region atledBlockComment start="(\*" end="\*)" contains=atledBlockComment,atledTodo,@Spell

syn match atledBadEscape "\v\\%(u\{[0-9A-Fa-f]*\}|.)" contained
syn match atledEscape "\v\\%([ntr0\\\"']|x[0-9A-Fa-f]{2}|u\{[0-9A-Fa-f]{1,6}\})" contained
syn region atledString start=+"+ skip=+\\.+ end=+"+ contains=atledEscape,atledBadEscape,@Spell
syn region atledRawString start=+r"+ end=+"+
syn region atledInterpolated start=+\$"+ end=+"+ contains=atledHole,atledBraces,atledEscape,atledBadEscape,@Spell

" In a hole brackets are regions: the brace that closes the hole is outside of all.
syn region atledHole matchgroup=atledHoleBrace start="{" end="}" contained contains=@atledCode,atledHoleBrackets,atledFormat
syn region atledHoleBrackets start="(\*\@!" end=")" contained contains=@atledCode,atledAnnotation,atledHoleBrackets transparent
syn region atledHoleBrackets start="\[" end="\]" contained contains=@atledCode,atledAnnotation,atledHoleBrackets transparent
syn region atledHoleBrackets start="{" end="}" contained contains=@atledCode,atledAnnotation,atledHoleBrackets transparent
syn match atledBraces "{{\|}}" contained
syn match atledFormat ":\@1<!::\@!\_[^}\"\n]*" contained

syn cluster atledWords contains=atledDefinition,atledFunction,atledConditional,atledLoop,atledBoolean
syn cluster atledComments contains=atledLineComment,atledBlockComment
syn cluster atledStrings contains=atledString,atledRawString,atledInterpolated
syn cluster atledCode contains=@atledWords,@atledComments,@atledStrings,atledName,atledConstructor,atledModule,atledTypeVariable,atledOperator,atledNoOperator,atledNumber,atledBadNumber

hi def link atledConstructor Constant
hi def link atledModule Include
hi def link atledTypeVariable Type
hi def link atledNumber Number
hi def link atledBadNumber Error
hi def link atledArray Type
hi def link atledTodo Todo
hi def link atledLineComment Comment
hi def link atledBlockComment Comment
hi def link atledString String
hi def link atledRawString String
hi def link atledInterpolated String
hi def link atledEscape SpecialChar
hi def link atledBraces SpecialChar
hi def link atledBadEscape Error
hi def link atledHoleBrace Delimiter
hi def link atledFormat SpecialChar

let b:current_syntax = 'atled'
let &cpo = s:cpo_save
unlet s:cpo_save
