# SPDX-License-Identifier: MIT
# Writes OUTPUT, a C file with the bytes of each of FILES (see src/api/stdlib_files.h); or, if NAME is given, of the one
# file, as the array of that name (see repl/texts.h).
set(arrays "")
set(rows "")
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" bytes "${bytes}")
  string(APPEND arrays "static const unsigned char ${name}[] = {\n${bytes}0};\n")
  string(APPEND rows "  {\"${name}\", (const char *)${name}, sizeof ${name} - 1},\n")
endforeach()
if(NAME)
  string(REPLACE "static const unsigned char ${name}[]" "const unsigned char ${NAME}[]" arrays "${arrays}")
  file(WRITE ${OUTPUT} "/* Made from docs/ by cmake/embed.cmake. */\n#include \"texts.h\"\n${arrays}")
  return()
endif()
file(WRITE ${OUTPUT} "/* Made from stdlib/ by cmake/embed.cmake. */
#include \"api/stdlib_files.h\"
${arrays}const StdlibFile stdlib_files[] = {
${rows}  {0, 0, 0}};
")
