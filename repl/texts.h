/* SPDX-License-Identifier: MIT */
/* Texts that are a part of the program: made by cmake/embed.cmake. */
#ifndef ATLED_TEXTS_H
#define ATLED_TEXTS_H
extern const unsigned char diagnostics_text[]; /* docs/diagnostics.md */
extern const unsigned char doc_style[];        /* repl/doc.css */
extern const unsigned char doc_script[];       /* repl/doc.js */
#endif
