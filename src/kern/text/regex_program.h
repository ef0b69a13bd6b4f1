/* SPDX-License-Identifier: Apache-2.0
 * kern/text/regex_program.h - compiled expressions, shared by the compiler and the matchers alone. */
#ifndef OX_KERN_TEXT_REGEX_PROGRAM_H
#define OX_KERN_TEXT_REGEX_PROGRAM_H

#include "kern/text/regex.h"

typedef struct regex_range {
  uint32_t lo, hi;
} regex_range;

typedef struct regex_set {
  const regex_range *ranges;
  uint32_t n;
  bool negated;
} regex_set;

typedef enum regex_op { RE_SET, RE_SPLIT, RE_JUMP, RE_ASSERT, RE_MATCH } regex_op;
typedef enum regex_place {
  AT_TEXT_BEGIN,
  AT_TEXT_END,
  AT_LINE_BEGIN,
  AT_LINE_END,
  AT_WORD_EDGE,
  AT_NO_WORD_EDGE
} regex_place;

typedef struct regex_inst {
  regex_op op;
  uint32_t x, y;        /* next; the other branch of SPLIT; the place of ASSERT is in y */
  const regex_set *set; /* SET */
} regex_inst;

/* The deterministic automaton, over classes of characters that are in the same sets.
 * State 0 is dead. */
typedef struct regex_dfa {
  uint32_t n_classes;
  uint8_t ascii[128];    /* class of a character below 128 */
  const uint32_t *first; /* the first character of each class range, ascending */
  const uint8_t *class_of_range;
  uint32_t n_ranges;
  const uint16_t *next;         /* [state][class] */
  const uint8_t *ends;          /* per state: ENDS_HERE, ENDS_AT_END */
  uint16_t start, start_inside; /* at the text's beginning; elsewhere */
} regex_dfa;
enum { ENDS_HERE = 1, ENDS_AT_END = 2 };

struct ox_regex {
  const regex_inst *code;
  uint32_t n;
  const regex_dfa *dfa; /* NULL: too large, or assertions depend on adjacent characters */
};

/* A sparse set of states, cleared by n = 0: member i is in |dense| at |sparse[i]|. */
typedef struct regex_states {
  uint32_t *dense, *sparse, n;
} regex_states;
#define REGEX_NO_CHAR UINT32_MAX /* beyond the ends of the text */
/* Adds |i| and all instructions that it reaches without consuming a character (epsilon closure), at a position between
 * the characters |prev| and |next|. |stack|: room for 2 * r->n. */
void ox_regex_follow(const ox_regex *r, regex_states *s, uint32_t *stack, uint32_t i, uint32_t prev, uint32_t next);
bool ox_regex_in_set(const regex_set *s, uint32_t cp);
/* Gives |r| its dfa if it is small enough. Error: OUT_OF_MEMORY. */
OX_NODISCARD ox_status *ox_regex_build_dfa(ox_arena *arena, ox_regex *r);

#endif
