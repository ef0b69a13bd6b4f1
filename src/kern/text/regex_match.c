/* SPDX-License-Identifier: Apache-2.0
 * kern/text/regex_match.c - matches with the DFA, or by following all states of the NFA at once (Thompson). */
#include <string.h>

#include "kern/text/regex_program.h"
#include "kern/text/utf8.h"

size_t ox_regex_scratch(const ox_regex *r) { return (size_t)r->n * 6 * sizeof(uint32_t); }

ox_regex_work ox_regex_work_on(size_t n, void *scratch, ox_stop stop) {
  return (ox_regex_work){scratch, ((int64_t)1 << 28) + 64 * (int64_t)n, stop};
}

ox_status *ox_regex_work_status(const ox_regex_work *w, size_t n) {
  if (w->left >= 0) return NULL;
  return ox_fail(OX_LIMIT, "a regular expression takes too many steps on a text of %zu bytes", n);
}

/* Counts steps; false: the limit is reached, or |stop| is set. */
static bool spend(ox_regex_work *w, size_t steps) {
  int64_t before = w->left;
  w->left -= (int64_t)steps;
  if (before / 8192 != w->left / 8192 && ox_stop_asked(&w->stop)) w->left = -1;
  return w->left >= 0;
}

static bool add_state(regex_states *s, uint32_t i) {
  if (s->sparse[i] < s->n && s->dense[s->sparse[i]] == i) return false;
  s->sparse[i] = s->n, s->dense[s->n++] = i;
  return true;
}

static bool is_word(uint32_t cp) {
  return (cp >= '0' && cp <= '9') || (cp >= 'A' && cp <= 'Z') || (cp >= 'a' && cp <= 'z') || cp == '_';
}

/* |prev|, |next|: the characters around the position; REGEX_NO_CHAR at the ends. */
static bool holds(uint32_t place, uint32_t prev, uint32_t next) {
  bool edge = (prev != REGEX_NO_CHAR && is_word(prev)) != (next != REGEX_NO_CHAR && is_word(next));
  switch (place) {
    case AT_TEXT_BEGIN:
      return prev == REGEX_NO_CHAR;
    case AT_TEXT_END:
      return next == REGEX_NO_CHAR;
    case AT_LINE_BEGIN:
      return prev == REGEX_NO_CHAR || prev == '\n';
    case AT_LINE_END:
      return next == REGEX_NO_CHAR || next == '\n';
    case AT_WORD_EDGE:
      return edge;
    default:
      return !edge;
  }
}

/* The stack is large enough: each of r->n states is added once, and pushes two at most. */
void ox_regex_follow(const ox_regex *r, regex_states *s, uint32_t *stack, uint32_t i, uint32_t prev, uint32_t next) {
  uint32_t top = 0;
  stack[top++] = i;
  while (top) {
    i = stack[--top];
    if (!add_state(s, i)) continue;
    const regex_inst *in = &r->code[i];
    if (in->op == RE_JUMP || (in->op == RE_ASSERT && holds(in->y, prev, next))) {
      stack[top++] = in->x;
    } else if (in->op == RE_SPLIT) {
      stack[top++] = in->y;
      stack[top++] = in->x;
    }
  }
}

bool ox_regex_in_set(const regex_set *s, uint32_t cp) {
  for (uint32_t i = 0; i < s->n; i++)
    if (cp >= s->ranges[i].lo && cp <= s->ranges[i].hi) return !s->negated;
  return s->negated;
}

static bool has_match(const ox_regex *r, const regex_states *s) {
  uint32_t m = r->n - 1; /* the last instruction is the only MATCH */
  return s->sparse[m] < s->n && s->dense[s->sparse[m]] == m;
}

static uint32_t peek(const char *text, size_t n, size_t at, size_t *len) {
  uint32_t cp = REGEX_NO_CHAR;
  *len = 0;
  if (at < n) *len = ox_utf8_next(text + at, n - at, &cp);
  return cp;
}

/* Runs the NFA from |from| on; returns the end of the longest match, SIZE_MAX if none. |whole|: only a match up to the
 * end of the text counts. */
static size_t run_nfa(const ox_regex *r, const char *text, size_t n, size_t from, bool whole, ox_regex_work *work) {
  uint32_t *w = work->scratch, *stack = w + 4 * (size_t)r->n, prev = REGEX_NO_CHAR;
  regex_states now = {w, w + r->n, 0}, then = {w + 2 * (size_t)r->n, w + 3 * (size_t)r->n, 0};
  size_t at = from, len, best = SIZE_MAX;
  memset(w, 0, ox_regex_scratch(r));
  if (from) { /* reads the character before, whose first byte is behind its continuation bytes */
    size_t k = from - 1;
    while (k && from - k < 4 && ((unsigned char)text[k] & 0xc0) == 0x80) k--;
    while (k < from) k += ox_utf8_next(text + k, n - k, &prev);
  }
  uint32_t next = peek(text, n, at, &len);
  ox_regex_follow(r, &now, stack, 0, prev, next);
  for (;;) {
    if (has_match(r, &now) && (!whole || at == n)) best = at;
    if (at == n || !now.n || !spend(work, now.n)) return best;
    uint32_t cp = next;
    at += len, next = peek(text, n, at, &len);
    then.n = 0;
    for (uint32_t i = 0; i < now.n; i++) {
      const regex_inst *in = &r->code[now.dense[i]];
      if (in->op == RE_SET && ox_regex_in_set(in->set, cp)) ox_regex_follow(r, &then, stack, in->x, cp, next);
    }
    regex_states swap = now;
    now = then, then = swap;
  }
}

static uint32_t class_of(const regex_dfa *d, uint32_t cp) {
  uint32_t lo = 0, hi = d->n_ranges; /* the last range that begins at or before cp */
  while (hi - lo > 1) {
    uint32_t mid = lo + (hi - lo) / 2;
    if (d->first[mid] <= cp)
      lo = mid;
    else
      hi = mid;
  }
  return d->class_of_range[lo];
}

static size_t run_dfa(const regex_dfa *d, const char *text, size_t n, size_t from, bool whole, ox_regex_work *w) {
  uint32_t state = from ? d->start_inside : d->start;
  size_t at = from, best = SIZE_MAX;
  for (size_t steps = 1; state && at < n; steps++) {
    if (!(steps & 4095) && !spend(w, 4096)) return SIZE_MAX;
    if (!whole && d->ends[state] & ENDS_HERE) best = at;
    unsigned char c = (unsigned char)text[at];
    uint32_t cp, k;
    if (c < 0x80)
      k = d->ascii[c], at++;
    else
      at += ox_utf8_next(text + at, n - at, &cp), k = class_of(d, cp);
    state = d->next[state * d->n_classes + k];
  }
  return state && at == n && d->ends[state] & ENDS_AT_END ? n : best;
}

bool ox_regex_full_match(const ox_regex *r, const char *text, size_t n, ox_regex_work *w) {
  if (r->dfa) return run_dfa(r->dfa, text, n, 0, true, w) != SIZE_MAX;
  return run_nfa(r, text, n, 0, true, w) != SIZE_MAX;
}

size_t ox_regex_longest_at(const ox_regex *r, const char *text, size_t n, size_t from, ox_regex_work *w) {
  size_t end = r->dfa ? run_dfa(r->dfa, text, n, from, false, w) : run_nfa(r, text, n, from, false, w);
  return end == SIZE_MAX ? SIZE_MAX : end - from;
}

size_t ox_regex_find(const ox_regex *r, const char *text, size_t n, size_t from, size_t *out_len, ox_regex_work *w) {
  const uint16_t *enter = r->dfa ? r->dfa->next + (size_t)r->dfa->start_inside * r->dfa->n_classes : NULL;
  uint32_t cp;
  while (from < n && spend(w, 1)) {
    unsigned char c = (unsigned char)text[from];
    if (enter && from && c < 0x80 && !enter[r->dfa->ascii[c]]) { /* no match begins with this character */
      from++;
      continue;
    }
    *out_len = ox_regex_longest_at(r, text, n, from, w);
    if (*out_len != SIZE_MAX && *out_len > 0) return from;
    from += ox_utf8_next(text + from, n - from, &cp);
  }
  return SIZE_MAX;
}
