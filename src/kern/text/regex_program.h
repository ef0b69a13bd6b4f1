/* SPDX-License-Identifier: Apache-2.0
 * kern/text/regex_program.h - what the parser hands to the matcher (private to the two). */
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

struct ox_regex {
  const regex_inst *code;
  uint32_t n;
};

#endif
