# SPDX-License-Identifier: MIT
# Writes OUTPUT, a C file with the bytes of FILE as the array NAME (see repl/texts.h).
file(READ ${FILE} hex HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" bytes "${bytes}")
file(WRITE ${OUTPUT} "/* Made by cmake/embed.cmake. */
#include \"texts.h\"
const unsigned char ${NAME}[] = {
${bytes}0};
")
