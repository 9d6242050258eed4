/* SPDX-License-Identifier: MIT */
/* The constructors of stdlib/Json.atl's type t, in their order: what json.c and json_values.c know of it. */
#ifndef ATLED_JSON_TAGS_H
#define ATLED_JSON_TAGS_H
typedef enum JsonTag { J_NULL, J_BOOL, J_NUMBER, J_STRING, J_ARRAY, J_OBJECT, J_NUMBERS } JsonTag;
#endif
