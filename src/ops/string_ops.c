/* SPDX-License-Identifier: Apache-2.0
 * ops/string_ops.c - StringConcat, StringSplit, StringNormalizer. New characters are in memory of the run. */
#include <string.h>

#include "kern/text/utf8.h"
#include "ops/move/deferred.h"

#define IGNORE_TILES (void)stage, (void)tiles, (void)scratch

/* ---- StringConcat ---- */

/* The element of |s| that broadcasts to position |i| of |out|. */
static int64_t source_of(const ox_shape *s, const ox_shape *out, int64_t i) {
  int64_t at = 0, stride = 1;
  for (int d = out->rank - 1, k = s->rank - 1; k >= 0; d--, k--) {
    if (s->dim[k] != 1) at += i % out->dim[d] * stride;
    i /= out->dim[d], stride *= s->dim[k];
  }
  return at;
}

/* Elements [begin, end): their lengths are summed first, so that their characters are in one allocation. */
static ox_status *concat_some(const ox_kernel_ctx *c, int64_t begin, int64_t end) {
  const ox_str *x = c->in[0]->data, *y = c->in[1]->data;
  ox_str *out = c->out[0]->data;
  const ox_shape *s = &c->out[0]->shape;
  size_t bytes = 0;
  char *text = NULL;
  for (int pass = 0; pass < 2; pass++) {
    if (pass && !(text = ox_ctx_run_alloc(c, OX_MAX(bytes, 1)))) return ox_oom();
    for (int64_t i = begin; i < end; i++) {
      const ox_str *a = &x[source_of(&c->in[0]->shape, s, i)], *b = &y[source_of(&c->in[1]->shape, s, i)];
      if (!pass) {
        bytes += a->n + b->n;
        continue;
      }
      if (a->n) memcpy(text, a->p, a->n);
      if (b->n) memcpy(text + a->n, b->p, b->n);
      out[i] = (ox_str){text, a->n + b->n}, text += a->n + b->n;
    }
  }
  return NULL;
}

/* New memory is cleared, so little is taken at once. */
static ox_status *concat_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  enum { SOME = 64 };
  IGNORE_TILES;
  int64_t n = ox_shape_count(&c->out[0]->shape);
  for (int64_t i = 0; i < n && !ox_ctx_stopped(c); i += SOME) OX_TRY(concat_some(c, i, OX_MIN(i + SOME, n)));
  return NULL;
}

/* ---- StringSplit ---- */

typedef struct {
  const char *delimiter;
  int64_t maxsplit;
  bool has_maxsplit;
} split_attrs;
static const ox_attr_def split_attr_defs[] = {OX_ATTR_STR(split_attrs, delimiter, NULL),
                                              OX_ATTR_INT_HAS(split_attrs, maxsplit, 0)};

static ox_status *split_infer(ox_infer_ctx *c) {
  if (!ox_infer_has(c, 0)) return NULL;
  ox_shape s = c->in[0]->shape;
  if (s.rank >= OX_MAX_RANK) return ox_fail(OX_LIMIT, "StringSplit: rank above %d", OX_MAX_RANK);
  if (s.rank >= 0) s.dim[s.rank++] = -1;
  ox_infer_out(c, 0, OX_STRING, &s);
  ox_infer_out(c, 1, OX_I64, &c->in[0]->shape);
  return NULL;
}

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f); }

/* The end of the spaces, or of the word, that |s| begins with; 0 if the run is to stop. */
static size_t end_of(const ox_kernel_ctx *c, const ox_str *s, bool spaces) {
  size_t n = 0;
  for (; n < s->n && is_space(s->p[n]) == spaces; n++)
    if (ox_ctx_stopped_each(c, (int64_t)n, 8192)) return 0;
  return n;
}

/* Removes the next part from |rest|; false at the end, or if the run is to stop. |limit|: the rest is one part. */
static bool next_word(const ox_kernel_ctx *c, ox_str *rest, bool limit, ox_str *part) {
  size_t n = end_of(c, rest, true);
  rest->p += n, rest->n -= n;
  n = limit ? rest->n : end_of(c, rest, false);
  *part = (ox_str){rest->p, n};
  rest->p += n, rest->n -= n;
  return n;
}

static bool next_part(const ox_kernel_ctx *c, ox_str *rest, const ox_str *by, bool limit, ox_str *part) {
  enum { PIECE = 4096 };
  if (!rest->p) return false;
  for (size_t i = 0, round = 0; !limit && i + by->n <= rest->n && !ox_ctx_stopped_each(c, (int64_t)round, 64);
       round++) {
    size_t n = OX_MIN(rest->n - by->n + 1 - i, PIECE);
    const char *hit = memchr(rest->p + i, by->p[0], n);
    i = hit ? (size_t)(hit - rest->p) : i + n;
    if (!hit) continue;
    if (memcmp(hit, by->p, by->n) == 0) {
      *part = (ox_str){rest->p, i};
      rest->p += i + by->n, rest->n -= i + by->n;
      return true;
    }
    i++;
  }
  *part = *rest;
  rest->p = NULL;
  return true;
}

/* Parts of |s|; written to |out| unless NULL. There may be fewer if the run is to stop, but not more. */
static int64_t split_one(const ox_kernel_ctx *c, ox_str s, ox_str *out) {
  const split_attrs *a = c->attrs;
  ox_str by = {a->delimiter, a->delimiter ? strlen(a->delimiter) : 0}, part;
  int64_t n = 0, most = a->has_maxsplit && a->maxsplit >= 0 ? a->maxsplit : INT64_MAX;
  if (!s.p) s.p = "";
  while (by.n ? next_part(c, &s, &by, n >= most, &part) : next_word(c, &s, n >= most, &part)) {
    if (out) out[n] = part;
    if (ox_ctx_stopped_each(c, n++, 256)) break;
  }
  return n;
}

static ox_status *split_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  IGNORE_TILES;
  const ox_str *in = c->in[0]->data;
  ox_shape s = c->in[0]->shape;
  int64_t n = ox_shape_count(&s), most = 0;
  for (int64_t i = 0; i < n && !ox_ctx_stopped_each(c, i, 64); i++) most = OX_MAX(most, split_one(c, in[i], NULL));
  if (ox_ctx_stopped(c)) return NULL;
  s.dim[s.rank++] = most;
  void *parts = NULL, *counts = NULL;
  if (ox_ctx_wants(c, 0)) OX_TRY(ox_output_at_run(c, 0, &s, &parts));
  if (ox_ctx_wants(c, 1)) OX_TRY(ox_output_at_run(c, 1, &c->in[0]->shape, &counts));
  for (int64_t i = 0; i < n && !ox_ctx_stopped_each(c, i, 64); i++) {
    ox_str *row = parts ? (ox_str *)parts + i * most : NULL;
    int64_t k = split_one(c, in[i], row);
    if (counts) ((int64_t *)counts)[i] = k;
    for (; row && k < most; k++) row[k] = (ox_str){"", 0};
  }
  return NULL;
}

/* ---- StringNormalizer ---- */

typedef struct {
  const char *case_change_action, *locale;
  int64_t is_case_sensitive;
  ox_strs stopwords;
} norm_attrs;
static const ox_attr_def norm_attr_defs[] = {
    OX_ATTR_STR(norm_attrs, case_change_action, "NONE"), OX_ATTR_STR(norm_attrs, locale, NULL),
    OX_ATTR_INT(norm_attrs, is_case_sensitive, 0), OX_ATTR_STRS(norm_attrs, stopwords)};

static ox_status *norm_infer(ox_infer_ctx *c) {
  const norm_attrs *a = c->attrs;
  if (!ox_infer_has(c, 0)) return NULL;
  ox_shape s = c->in[0]->shape;
  if (strcmp(a->case_change_action, "NONE") != 0 && strcmp(a->case_change_action, "LOWER") != 0 &&
      strcmp(a->case_change_action, "UPPER") != 0)
    return ox_fail(OX_INVALID_MODEL, "StringNormalizer: unknown case_change_action '%s'", a->case_change_action);
  if (s.rank >= 0 && !(s.rank == 1 || (s.rank == 2 && (s.dim[0] == 1 || s.dim[0] < 0)))) {
    char t[OX_SHAPE_TEXT];
    return ox_fail(OX_SHAPE_MISMATCH, "StringNormalizer: input has shape %s, wanted [C] or [1,C]",
                   ox_shape_text(&s, t));
  }
  if (s.rank > 0) s.dim[s.rank - 1] = -1;
  if (s.rank == 2) s.dim[0] = 1;
  ox_infer_out(c, 0, OX_STRING, &s);
  return NULL;
}

static bool equal_words(ox_str a, ox_str b, bool cased) {
  if (cased) return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
  while (a.n && b.n) {
    uint32_t x, y;
    size_t nx = ox_utf8_next(a.p, a.n, &x), ny = ox_utf8_next(b.p, b.n, &y);
    if (ox_utf8_lower(x) != ox_utf8_lower(y)) return false;
    a.p += nx, a.n -= nx, b.p += ny, b.n -= ny;
  }
  return a.n == b.n;
}

static bool is_stopword(const norm_attrs *a, ox_str s) {
  for (size_t i = 0; i < a->stopwords.n; i++)
    if (equal_words(a->stopwords.v[i], s, a->is_case_sensitive != 0)) return true;
  return false;
}

/* From byte |*from|, where a character begins, to the first that begins at |end| or behind. Returns the bytes written.
 */
static size_t change_piece(bool upper, ox_str s, size_t *from, size_t end, char *text) {
  char first = upper ? 'a' : 'A';
  size_t at = 0, i = *from;
  while (i < end) {
    unsigned char c = (unsigned char)s.p[i];
    if (c < 0x80) {
      text[at++] = (char)(c ^ ((unsigned)(c - first) < 26U ? 0x20 : 0)), i++;
      continue;
    }
    uint32_t cp, other;
    size_t n = ox_utf8_next(s.p + i, s.n - i, &cp);
    other = upper ? ox_utf8_upper(cp) : ox_utf8_lower(cp);
    if (other == cp)
      memcpy(text + at, s.p + i, n), at += n;
    else
      at += ox_utf8_put(other, text + at);
    i += n;
  }
  *from = i;
  return at;
}

/* |text| has room for 2 * s.n: no mapping makes a character longer than that. Returns the bytes written. */
static size_t change_case(const ox_kernel_ctx *c, ox_str s, char *text) {
  enum { PIECE = 4096 };
  bool upper = ((const norm_attrs *)c->attrs)->case_change_action[0] == 'U';
  size_t at = 0, i = 0;
  for (int64_t round = 0; i < s.n && !ox_ctx_stopped_each(c, round, 2); round++)
    at += change_piece(upper, s, &i, OX_MIN(i + PIECE, s.n), text + at);
  return at;
}

static ox_status *norm_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  enum { SOME = 16 << 10 };
  IGNORE_TILES;
  const norm_attrs *a = c->attrs;
  const ox_str *in = c->in[0]->data;
  ox_shape s = c->in[0]->shape;
  int64_t n = s.dim[s.rank - 1], kept = 0, k = 0;
  bool same = strcmp(a->case_change_action, "NONE") == 0;
  size_t bytes = 0;
  for (int64_t i = 0; i < n && !ox_ctx_stopped_each(c, i, 64); i++)
    if (!is_stopword(a, in[i])) kept++, bytes += 2 * in[i].n;
  if (ox_ctx_stopped(c)) return NULL; /* not all are counted */
  s.dim[s.rank - 1] = OX_MAX(kept, 1);
  void *data;
  OX_TRY(ox_output_at_run(c, 0, &s, &data));
  char *text = NULL;
  size_t left = 0; /* of |text| */
  ox_str *out = data;
  out[0] = (ox_str){"", 0}; /* nothing left: one empty string */
  for (int64_t i = 0; i < n && !ox_ctx_stopped_each(c, i, 64); i++) {
    if (is_stopword(a, in[i])) continue;
    out[k++] = in[i];
    if (same) continue;
    size_t room = 2 * in[i].n, some = OX_MIN(bytes, SOME); /* new memory is cleared, so little is taken at once */
    if (!text || left < room) {
      left = OX_MAX(room, some);
      if (!(text = ox_ctx_run_alloc(c, OX_MAX(left, 1)))) return ox_oom();
    }
    size_t used = change_case(c, in[i], text);
    out[k - 1] = (ox_str){text, used}, text += used, left -= used, bytes -= room;
  }
  return NULL;
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "StringConcat", .since = 20, .types = {OX_BIT(OX_STRING)}, .min_in = 2, .max_in = 2,
               .infer = ox_infer_broadcast),
     OX_KERNEL(.run = concat_run)},
    {OX_SCHEMA(.name = "StringSplit", .since = 20, .types = {OX_BIT(OX_STRING)}, .min_in = 1, .max_in = 1, .min_out = 1,
               .max_out = 2, OX_ATTRS(split_attr_defs), .attrs_bytes = sizeof(split_attrs), .infer = split_infer),
     OX_KERNEL(.run = split_run)},
    {OX_SCHEMA(.name = "StringNormalizer", .since = 10, .types = {OX_BIT(OX_STRING)}, .min_in = 1, .max_in = 1,
               OX_ATTRS(norm_attr_defs), .attrs_bytes = sizeof(norm_attrs), .infer = norm_infer),
     OX_KERNEL(.run = norm_run)},
};
const ox_op_set ox_ops_string_ops = {ops, OX_COUNT(ops)};
