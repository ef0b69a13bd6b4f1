/* SPDX-License-Identifier: Apache-2.0
 * onnx/text/text_lex.h - tokens of the textual syntax (private to onnx/). */
#ifndef OX_ONNX_TEXT_LEX_H
#define OX_ONNX_TEXT_LEX_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/status.h"

typedef struct ox_lex {
  const char *p, *begin, *end;
  ox_arena *arena; /* for unescaped strings */
} ox_lex;

typedef enum ox_literal_kind { OX_LIT_INT, OX_LIT_FLOAT, OX_LIT_STRING } ox_literal_kind;

typedef struct ox_literal {
  ox_literal_kind kind;
  ox_str s;        /* STRING: its content */
  char number[72]; /* INT, FLOAT: the digits, NUL-terminated */
} ox_literal;

/* INVALID_MODEL with "line:column: " in front. */
OX_NODISCARD OX_PRINTF(2, 3) ox_status *ox_lex_fail(const ox_lex *x, const char *fmt, ...);

int ox_lex_peek(ox_lex *x);         /* the next character after space and comments; 0 at the end */
bool ox_lex_try(ox_lex *x, char c); /* takes |c| if it is next */
OX_NODISCARD ox_status *ox_lex_expect(ox_lex *x, char c);
ox_str ox_lex_peek_ident(ox_lex *x); /* empty if none is next */
ox_str ox_lex_take_ident(ox_lex *x);
OX_NODISCARD ox_status *ox_lex_ident(ox_lex *x, ox_str *out);
/* An identifier or a quoted string; |*out_found| false if neither is next. */
OX_NODISCARD ox_status *ox_lex_try_name(ox_lex *x, ox_str *out, bool *out_found);
OX_NODISCARD ox_status *ox_lex_name(ox_lex *x, ox_str *out);
OX_NODISCARD ox_status *ox_lex_literal(ox_lex *x, ox_literal *out);
OX_NODISCARD ox_status *ox_lex_string(ox_lex *x, ox_str *out);
OX_NODISCARD ox_status *ox_lex_int(ox_lex *x, int64_t *out);
/* Conversions of a number; the error names it. */
OX_NODISCARD ox_status *ox_lex_to_int(const ox_lex *x, const ox_literal *lit, int64_t *out);
OX_NODISCARD ox_status *ox_lex_to_uint(const ox_lex *x, const ox_literal *lit, uint64_t *out);
OX_NODISCARD ox_status *ox_lex_to_float(const ox_lex *x, const ox_literal *lit, float *out);
OX_NODISCARD ox_status *ox_lex_to_double(const ox_lex *x, const ox_literal *lit, double *out);
/* True if |s| is the C string |text|. */
bool ox_str_is(ox_str s, const char *text);
/* The next word is inf, infinity or nan. */
bool ox_lex_at_special_float(ox_lex *x);

#endif
