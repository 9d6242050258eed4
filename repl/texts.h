/* SPDX-License-Identifier: MIT */
/* Texts of the documentation that are a part of the program: made by cmake/embed.cmake. */
#ifndef ATLED_TEXTS_H
#define ATLED_TEXTS_H
extern const unsigned char diagnostics_text[]; /* docs/diagnostics.md */
#endif
