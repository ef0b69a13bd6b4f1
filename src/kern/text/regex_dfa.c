/* SPDX-License-Identifier: Apache-2.0
 * kern/text/regex_dfa.c - turns the program into a deterministic automaton (subset construction) if that stays small.
 */
#include <string.h>

#include "base/macros.h"
#include "kern/text/regex_program.h"

/* Limits of an automaton; an expression beyond them is run as an NFA. */
enum { MOST_STATES = 512, MOST_CLASSES = 200, MOST_RANGES = 1024, MOST_INSTS = 2000, MOST_WORK = 4000000 };

typedef struct builder {
  const ox_regex *r;
  regex_dfa *dfa;
  uint32_t *first; /* of each range */
  uint8_t *class_of_range;
  uint32_t sample[MOST_CLASSES]; /* a character of each class */
  uint16_t *next;
  uint8_t *ends;
  uint32_t **kernel; /* per state: how many, then the instructions that it begins with, ascending */
  uint32_t n_states, work;
  regex_states set, kernel_set;
  uint32_t *stack;
  ox_arena *arena;
  bool oom;
} builder;

/* Is the expression short, and without assertions that depend on adjacent characters? (States would have to contain
 * these.)
 */
static bool is_suitable(const ox_regex *r) {
  for (uint32_t i = 0; i < r->n; i++)
    if (r->code[i].op == RE_ASSERT && r->code[i].y != AT_TEXT_BEGIN && r->code[i].y != AT_TEXT_END) return false;
  return r->n <= MOST_INSTS;
}

static uint32_t add_first(uint32_t *first, uint32_t n, uint32_t cp) {
  uint32_t i = n;
  for (uint32_t k = 0; k < n; k++)
    if (first[k] == cp) return n;
  for (; i > 0 && first[i - 1] > cp; i--) first[i] = first[i - 1];
  first[i] = cp;
  return n + 1;
}

/* Divides the characters into ranges that begin where any set begins or ends. False: too many. */
static bool find_ranges(builder *b) {
  uint32_t n = add_first(b->first, 0, 0);
  for (uint32_t i = 0; i < b->r->n; i++) {
    const regex_set *s = b->r->code[i].op == RE_SET ? b->r->code[i].set : NULL;
    for (uint32_t k = 0; s && k < s->n; k++) {
      if (n + 2 > MOST_RANGES) return false;
      n = add_first(b->first, n, s->ranges[k].lo);
      n = add_first(b->first, n, s->ranges[k].hi + 1);
    }
  }
  b->dfa->n_ranges = n;
  return true;
}

/* Are the characters x and y in the same sets? */
static bool alike(const ox_regex *r, uint32_t x, uint32_t y) {
  for (uint32_t i = 0; i < r->n; i++)
    if (r->code[i].op == RE_SET && ox_regex_in_set(r->code[i].set, x) != ox_regex_in_set(r->code[i].set, y))
      return false;
  return true;
}

/* Ranges that are in the same sets form a class. */
static bool find_classes(builder *b) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < b->dfa->n_ranges; i++) {
    uint32_t k = 0;
    while (k < n && !alike(b->r, b->sample[k], b->first[i])) k++;
    if (k == n) {
      if (n == MOST_CLASSES) return false;
      b->sample[n++] = b->first[i];
    }
    b->class_of_range[i] = (uint8_t)k;
  }
  b->dfa->n_classes = n;
  for (uint32_t c = 0, i = 0; c < 128; c++) {
    while (i + 1 < b->dfa->n_ranges && b->first[i + 1] <= c) i++;
    b->dfa->ascii[c] = b->class_of_range[i];
  }
  return true;
}

/* b->set: the epsilon closure of |kernel| at a position between |prev| and |next|. */
static void close_over(builder *b, const uint32_t *kernel, uint32_t prev, uint32_t next) {
  b->set.n = 0;
  for (uint32_t i = 1; i <= kernel[0]; i++) ox_regex_follow(b->r, &b->set, b->stack, kernel[i], prev, next);
}

static bool matches(const builder *b) {
  for (uint32_t i = 0; i < b->set.n; i++)
    if (b->r->code[b->set.dense[i]].op == RE_MATCH) return true;
  return false;
}

/* The state that begins with b->kernel_set; |at_begin|: at the beginning of the text. MOST_STATES: too many. */
static uint32_t state_of(builder *b, bool at_begin) {
  uint32_t n = b->kernel_set.n, *list = ox_arena_array(b->arena, n + 1, sizeof *list);
  if (!list) {
    b->oom = true;
    return MOST_STATES;
  }
  list[0] = n;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t k = i, v = b->kernel_set.dense[i];
    for (; k > 0 && list[k] > v; k--) list[k + 1] = list[k];
    list[k + 1] = v;
  }
  for (uint32_t s = at_begin ? b->n_states : 0; s < b->n_states; s++) {
    b->work += n + 1;
    if (s != b->dfa->start && memcmp(b->kernel[s], list, (n + 1) * sizeof *list) == 0) return s;
  }
  if (b->n_states == MOST_STATES) return MOST_STATES;
  uint32_t prev = at_begin ? REGEX_NO_CHAR : ' ';
  b->kernel[b->n_states] = list;
  close_over(b, list, prev, ' ');
  b->ends[b->n_states] = matches(b) ? ENDS_HERE : 0;
  close_over(b, list, prev, REGEX_NO_CHAR);
  b->ends[b->n_states] |= matches(b) ? ENDS_AT_END : 0;
  return b->n_states++;
}

/* Computes the transitions of |state|. False: too many states. */
static bool expand(builder *b, uint32_t state) {
  close_over(b, b->kernel[state], state == b->dfa->start ? REGEX_NO_CHAR : ' ', ' ');
  uint32_t n = b->set.n, *members = ox_arena_copy(b->arena, b->set.dense, OX_MAX(n, 1) * sizeof *members);
  if (!members) b->oom = true;
  for (uint32_t c = 0; c < b->dfa->n_classes && members; c++) {
    b->kernel_set.n = 0;
    for (uint32_t i = 0; i < n; i++) {
      const regex_inst *in = &b->r->code[members[i]];
      if (in->op != RE_SET || !ox_regex_in_set(in->set, b->sample[c])) continue;
      regex_states *k = &b->kernel_set;
      if (k->sparse[in->x] < k->n && k->dense[k->sparse[in->x]] == in->x) continue;
      k->sparse[in->x] = k->n, k->dense[k->n++] = in->x;
    }
    uint32_t to = state_of(b, false);
    b->work += n + 8;
    if (to == MOST_STATES || b->work > MOST_WORK) return false;
    b->next[state * b->dfa->n_classes + c] = (uint16_t)to;
  }
  return members != NULL;
}

static bool build(builder *b) {
  uint32_t n = b->r->n;
  if (!find_ranges(b) || !find_classes(b)) return false;
  b->next = OX_ARENA_ARRAY(b->arena, uint16_t, (size_t)MOST_STATES * b->dfa->n_classes);
  uint32_t *room = OX_ARENA_ARRAY(b->arena, uint32_t, (size_t)n * 6);
  if (!b->next || !room) {
    b->oom = true;
    return false;
  }
  b->set = (regex_states){room, room + n, 0},
  b->kernel_set = (regex_states){room + 2 * (size_t)n, room + 3 * (size_t)n, 0};
  b->stack = room + 4 * (size_t)n;
  b->dfa->start = UINT16_MAX;
  if (state_of(b, false) != 0) return false; /* the dead state: no instruction */
  b->kernel_set.dense[0] = 0, b->kernel_set.n = 1;
  uint32_t start = state_of(b, true);
  b->dfa->start = (uint16_t)start;
  b->kernel_set.dense[0] = 0, b->kernel_set.n = 1;
  uint32_t inside = state_of(b, false);
  if (start == MOST_STATES || inside == MOST_STATES) return false;
  b->dfa->start_inside = (uint16_t)inside;
  for (uint32_t s = 0; s < b->n_states; s++)
    if (!expand(b, s)) return false;
  return true;
}

ox_status *ox_regex_build_dfa(ox_arena *arena, ox_regex *r) {
  ox_arena temporary;
  r->dfa = NULL;
  if (!is_suitable(r)) return NULL;
  ox_arena_init(&temporary, arena->alloc);
  builder *b = OX_ARENA_NEW(&temporary, builder);
  regex_dfa *dfa = OX_ARENA_NEW(arena, regex_dfa);
  ox_status *st = NULL;
  bool ready = b && dfa;
  if (ready) {
    b->r = r, b->arena = &temporary, b->dfa = dfa;
    b->first = OX_ARENA_ARRAY(&temporary, uint32_t, MOST_RANGES + 2);
    b->class_of_range = OX_ARENA_ARRAY(&temporary, uint8_t, MOST_RANGES + 2);
    b->ends = OX_ARENA_ARRAY(&temporary, uint8_t, MOST_STATES);
    b->kernel = OX_ARENA_ARRAY(&temporary, uint32_t *, MOST_STATES);
    ready = b->first && b->class_of_range && b->ends && b->kernel;
  }
  if (!ready) {
    st = ox_oom();
  } else if (build(b)) {
    dfa->first = ox_arena_copy(arena, b->first, dfa->n_ranges * sizeof *b->first);
    dfa->class_of_range = ox_arena_copy(arena, b->class_of_range, dfa->n_ranges);
    dfa->next = ox_arena_copy(arena, b->next, (size_t)b->n_states * dfa->n_classes * sizeof *b->next);
    dfa->ends = ox_arena_copy(arena, b->ends, b->n_states);
    if (dfa->first && dfa->class_of_range && dfa->next && dfa->ends)
      r->dfa = dfa;
    else
      st = ox_oom();
  } else if (b->oom) {
    st = ox_oom();
  }
  ox_arena_deinit(&temporary);
  return st;
}
