/* SPDX-License-Identifier: Apache-2.0
 * kern/text/regex_parse.c - parses RE2's syntax to a tree. Captures and lazy repetitions do not change whether a text
 * matches, so they are parsed and ignored. */
#include <string.h>

#include "base/macros.h"
#include "kern/text/regex_tree.h"
#include "kern/text/utf8.h"

enum { MOST_PATTERN = 8192, MOST_RANGES = 4096, MOST_DEPTH = 200, MOST_REPEAT = 1000, LAST_CP = 0x10ffff };
enum { FLAG_I = 1, FLAG_M = 2, FLAG_S = 4 };

typedef struct parser {
  ox_arena *arena;
  const char *begin, *p, *end;
  unsigned flags;
  int depth;
  regex_range ranges[MOST_RANGES]; /* of the set being read */
  uint32_t n_ranges;
  const char *error;
  ox_code code;
} parser;

static const regex_node *parse_alternatives(parser *s);
static const regex_node *parse_suffix(parser *s, const regex_node *a);

static const regex_node *fail(parser *s, const char *why) {
  if (!s->error) s->error = why, s->code = OX_INVALID_MODEL;
  return NULL;
}

static const regex_node *make(parser *s, regex_node n) {
  regex_node *copy = ox_arena_copy(s->arena, &n, sizeof n);
  if (!copy) s->error = "out of memory", s->code = OX_OUT_OF_MEMORY;
  return copy;
}

/* Consumes |word| if it comes next. */
static bool accept(parser *s, const char *word) {
  size_t n = strlen(word);
  if ((size_t)(s->end - s->p) < n || memcmp(s->p, word, n) != 0) return false;
  s->p += n;
  return true;
}

/* ---- sets ---- */

static void add_range(parser *s, uint32_t lo, uint32_t hi) {
  if (s->n_ranges == MOST_RANGES) {
    (void)fail(s, "too many characters in a class");
    return;
  }
  s->ranges[s->n_ranges++] = (regex_range){lo, hi};
}

/* Adds the range, and with FLAG_I its characters in the other case. */
static void add_cased(parser *s, uint32_t lo, uint32_t hi) {
  add_range(s, lo, hi);
  if (!(s->flags & FLAG_I)) return;
  for (uint32_t c = lo; c <= hi && c < 0x10000 && !s->error; c++) {
    uint32_t l = ox_utf8_lower(c), u = ox_utf8_upper(c);
    if (l != c) add_range(s, l, l);
    if (u != c) add_range(s, u, u);
  }
}

typedef struct named_class {
  const char *name;
  regex_range r[4];
  int n;
} named_class;
static const named_class perl_classes[] = {
    {"d", {{'0', '9'}}, 1},
    {"s", {{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}}, 3},
    {"w", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}, 4},
};
static const named_class posix_classes[] = {
    {"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}, 3},
    {"alpha", {{'A', 'Z'}, {'a', 'z'}}, 2},
    {"ascii", {{0, 127}}, 1},
    {"blank", {{'\t', '\t'}, {' ', ' '}}, 2},
    {"cntrl", {{0, 31}, {127, 127}}, 2},
    {"digit", {{'0', '9'}}, 1},
    {"graph", {{'!', '~'}}, 1},
    {"lower", {{'a', 'z'}}, 1},
    {"print", {{' ', '~'}}, 1},
    {"punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}, 4},
    {"space", {{'\t', '\r'}, {' ', ' '}}, 2},
    {"upper", {{'A', 'Z'}}, 1},
    {"word", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}, 4},
    {"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}, 3},
};

static void add_class(parser *s, const named_class *c, bool negated) {
  if (!negated) {
    for (int i = 0; i < c->n; i++) add_cased(s, c->r[i].lo, c->r[i].hi);
    return;
  }
  uint32_t from = 0;
  for (int i = 0; i < c->n; from = c->r[i++].hi + 1)
    if (c->r[i].lo > from) add_range(s, from, c->r[i].lo - 1);
  add_range(s, from, LAST_CP);
}

static const regex_set *take_set(parser *s, bool negated) {
  regex_set set = {.n = s->n_ranges, .negated = negated};
  set.ranges = ox_arena_copy(s->arena, s->ranges, OX_MAX(s->n_ranges, 1) * sizeof s->ranges[0]);
  s->n_ranges = 0;
  return set.ranges ? ox_arena_copy(s->arena, &set, sizeof set) : NULL;
}

static const regex_node *set_node(parser *s, bool negated) {
  const regex_set *set = take_set(s, negated);
  return set ? make(s, (regex_node){.kind = NODE_SET, .set = set}) : fail(s, "out of memory");
}

static int hex_digit(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

static uint32_t parse_hex(parser *s) {
  uint32_t v = 0;
  bool braces = accept(s, "{");
  for (int digits = 0; s->p < s->end && (braces || digits < 2); digits++) {
    if (braces && accept(s, "}")) return v;
    int d = hex_digit(*s->p++);
    if (d < 0 || (v = v * 16 + (uint32_t)d) > LAST_CP) break;
    if (!braces && digits == 1) return v;
  }
  (void)fail(s, "bad \\x escape");
  return 0;
}

/* The character after a backslash that stands for one character. */
static uint32_t parse_escape(parser *s) {
  static const char from[] = "afnrtv", to[] = "\a\f\n\r\t\v";
  if (s->p == s->end) {
    (void)fail(s, "the pattern ends in a backslash");
    return 0;
  }
  char c = *s->p;
  const char *k = memchr(from, c, sizeof from - 1);
  if (k) {
    s->p++;
    return (uint32_t)to[k - from];
  }
  if (accept(s, "x")) return parse_hex(s);
  if (c >= '0' && c <= '7') { /* octal: \0 and up to two more digits, or three digits */
    uint32_t v = 0;
    for (int i = 0; i < 3 && s->p < s->end && *s->p >= '0' && *s->p <= '7'; i++) v = v * 8 + (uint32_t)(*s->p++ - '0');
    return v;
  }
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '8' && c <= '9')) {
    if (!s->error && (c == 'p' || c == 'P')) s->error = "Unicode classes (\\p)", s->code = OX_NOT_IMPLEMENTED;
    (void)fail(s, "unknown escape");
    return 0;
  }
  uint32_t cp;
  s->p += ox_utf8_next(s->p, (size_t)(s->end - s->p), &cp);
  return cp;
}

/* \d and the like, after the backslash. */
static bool parse_perl_class(parser *s) {
  for (size_t i = 0; i < OX_COUNT(perl_classes) && s->p < s->end; i++) {
    char lower = perl_classes[i].name[0], upper = (char)(lower - 32);
    if (*s->p != lower && *s->p != upper) continue;
    add_class(s, &perl_classes[i], *s->p++ == upper);
    return true;
  }
  return false;
}

static bool parse_posix_class(parser *s) {
  for (size_t i = 0; i < OX_COUNT(posix_classes); i++)
    for (int negated = 0; negated < 2; negated++) {
      const char *back = s->p;
      if (accept(s, negated ? "[:^" : "[:") && accept(s, posix_classes[i].name) && accept(s, ":]")) {
        add_class(s, &posix_classes[i], negated);
        return true;
      }
      s->p = back;
    }
  return false;
}

static uint32_t class_char(parser *s) {
  uint32_t cp = 0;
  if (s->p == s->end)
    (void)fail(s, "missing ]");
  else if (accept(s, "\\"))
    cp = parse_escape(s);
  else
    s->p += ox_utf8_next(s->p, (size_t)(s->end - s->p), &cp);
  return cp;
}

/* After the opening bracket. */
static const regex_node *parse_class(parser *s) {
  bool negated = accept(s, "^"), first = true;
  s->n_ranges = 0;
  while (!s->error) {
    if (s->p == s->end) return fail(s, "missing ]");
    if (!first && accept(s, "]")) return set_node(s, negated);
    first = false;
    if (parse_posix_class(s)) continue;
    const char *back = s->p;
    if (accept(s, "\\") && parse_perl_class(s)) continue;
    s->p = back;
    uint32_t lo = class_char(s), hi = lo;
    if (s->end - s->p >= 2 && s->p[0] == '-' && s->p[1] != ']') s->p++, hi = class_char(s);
    if (hi < lo) return fail(s, "a class range runs backwards");
    add_cased(s, lo, hi);
  }
  return NULL;
}

/* ---- atoms ---- */

static const regex_node *literal(parser *s, uint32_t cp) {
  s->n_ranges = 0;
  add_cased(s, cp, cp);
  return set_node(s, false);
}

static const regex_node *place(parser *s, regex_place where) {
  return make(s, (regex_node){.kind = NODE_ASSERT, .min = (int)where});
}

/* \Q ... \E; a repetition after it applies to the last character. */
static const regex_node *parse_quoted(parser *s) {
  const regex_node *all = make(s, (regex_node){.kind = NODE_EMPTY});
  for (bool end = accept(s, "\\E") || s->p == s->end; !end && all;) {
    uint32_t cp;
    s->p += ox_utf8_next(s->p, (size_t)(s->end - s->p), &cp);
    const regex_node *one = literal(s, cp);
    end = accept(s, "\\E") || s->p == s->end;
    if (end && one) one = parse_suffix(s, one);
    all = one ? make(s, (regex_node){.kind = NODE_CAT, .a = all, .b = one}) : NULL;
  }
  return all;
}

static const regex_node *parse_backslash(parser *s) {
  static const struct {
    const char *name;
    regex_place where;
  } places[] = {{"A", AT_TEXT_BEGIN}, {"z", AT_TEXT_END}, {"b", AT_WORD_EDGE}, {"B", AT_NO_WORD_EDGE}};
  for (size_t i = 0; i < OX_COUNT(places); i++)
    if (accept(s, places[i].name)) return place(s, places[i].where);
  if (accept(s, "Q")) return parse_quoted(s);
  s->n_ranges = 0;
  if (parse_perl_class(s)) return set_node(s, false);
  uint32_t cp = parse_escape(s);
  return s->error ? NULL : literal(s, cp);
}

/* After "(?": parses flags or a name. *done: there were only flags, no group follows. */
static const regex_node *parse_group_head(parser *s, bool *done) {
  if (accept(s, "P<") || accept(s, "<")) {
    const char *close = memchr(s->p, '>', (size_t)(s->end - s->p));
    if (!close || close == s->p) return fail(s, "bad group name");
    s->p = close + 1;
    return NULL;
  }
  bool off = false;
  while (s->p < s->end) {
    char c = *s->p++;
    unsigned bit = c == 'i' ? FLAG_I : c == 'm' ? FLAG_M : c == 's' ? FLAG_S : 0;
    if (c == ':') return NULL;
    if (c == ')') {
      *done = true;
      return NULL;
    }
    if (c == '-')
      off = true;
    else if (bit)
      s->flags = off ? s->flags & ~bit : s->flags | bit;
    else if (c != 'U')
      return fail(s, "unknown group flag");
  }
  return fail(s, "missing )");
}

static const regex_node *parse_group(parser *s) {
  unsigned flags = s->flags;
  bool done = false;
  if (accept(s, "?")) (void)parse_group_head(s, &done);
  if (s->error) return NULL;
  if (done) return make(s, (regex_node){.kind = NODE_EMPTY}); /* the flags apply until the end of the enclosing group */
  const regex_node *body = parse_alternatives(s);
  s->flags = flags;
  return body && !accept(s, ")") ? fail(s, "missing )") : body;
}

static const regex_node *parse_atom(parser *s) {
  if (accept(s, "(")) return parse_group(s);
  if (accept(s, "[")) return parse_class(s);
  if (accept(s, "\\")) return parse_backslash(s);
  if (accept(s, "^")) return place(s, s->flags & FLAG_M ? AT_LINE_BEGIN : AT_TEXT_BEGIN);
  if (accept(s, "$")) return place(s, s->flags & FLAG_M ? AT_LINE_END : AT_TEXT_END);
  if (accept(s, ".")) {
    s->n_ranges = 0;
    if (!(s->flags & FLAG_S)) add_range(s, '\n', '\n');
    return set_node(s, true);
  }
  if (*s->p == '*' || *s->p == '+' || *s->p == '?') return fail(s, "nothing to repeat");
  uint32_t cp;
  s->p += ox_utf8_next(s->p, (size_t)(s->end - s->p), &cp);
  return literal(s, cp);
}

static bool parse_number(parser *s, int *out) {
  if (s->p == s->end || *s->p < '0' || *s->p > '9') return false;
  *out = 0;
  while (s->p < s->end && *s->p >= '0' && *s->p <= '9' && *out <= MOST_REPEAT) *out = *out * 10 + (*s->p++ - '0');
  return true;
}

/* "{n}", "{n,}", "{n,m}"; anything else is a literal brace. */
static bool parse_counts(parser *s, int *min, int *max) {
  const char *back = s->p;
  if (accept(s, "{") && parse_number(s, min)) {
    *max = *min;
    if (accept(s, ",") && !parse_number(s, max)) *max = -1;
    if (accept(s, "}")) return true;
  }
  s->p = back;
  return false;
}

static const regex_node *parse_suffix(parser *s, const regex_node *a) {
  while (a && s->p < s->end) {
    int min, max;
    if (accept(s, "*"))
      min = 0, max = -1;
    else if (accept(s, "+"))
      min = 1, max = -1;
    else if (accept(s, "?"))
      min = 0, max = 1;
    else if (!parse_counts(s, &min, &max))
      break;
    if (min > MOST_REPEAT || max > MOST_REPEAT || (max >= 0 && max < min)) return fail(s, "bad repetition count");
    (void)accept(s, "?");
    a = make(s, (regex_node){.kind = NODE_REPEAT, .a = a, .min = min, .max = max});
  }
  return a;
}

static const regex_node *parse_repeated(parser *s) { return parse_suffix(s, parse_atom(s)); }

static const regex_node *parse_sequence(parser *s) {
  const regex_node *all = make(s, (regex_node){.kind = NODE_EMPTY});
  while (all && s->p < s->end && *s->p != '|' && *s->p != ')') {
    const regex_node *one = parse_repeated(s);
    all = one ? make(s, (regex_node){.kind = NODE_CAT, .a = all, .b = one}) : NULL;
  }
  return all;
}

static const regex_node *parse_alternatives(parser *s) {
  if (++s->depth > MOST_DEPTH) return fail(s, "nested too deeply");
  const regex_node *all = parse_sequence(s);
  while (all && accept(s, "|")) {
    const regex_node *one = parse_sequence(s);
    all = one ? make(s, (regex_node){.kind = NODE_ALT, .a = all, .b = one}) : NULL;
  }
  s->depth--;
  return all;
}

ox_status *ox_regex_parse(ox_arena *arena, const char *pattern, size_t n, const regex_node **out_tree) {
  *out_tree = NULL;
  if (n > MOST_PATTERN) return ox_fail(OX_LIMIT, "regular expression of %zu bytes, at most %d", n, MOST_PATTERN);
  parser *s = ox_arena_alloc(arena, sizeof *s);
  if (!s) return ox_oom();
  s->arena = arena, s->begin = s->p = pattern, s->end = pattern + n;
  const regex_node *tree = parse_alternatives(s);
  if (tree && s->p < s->end) tree = fail(s, "unexpected )");
  if (!tree)
    return ox_fail(s->code, "regular expression '%.*s', byte %zu: %s", (int)OX_MIN(n, 200), pattern,
                   (size_t)(s->p - s->begin), s->error ? s->error : "out of memory");
  *out_tree = tree;
  return NULL;
}
