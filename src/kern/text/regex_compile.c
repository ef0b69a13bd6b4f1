/* SPDX-License-Identifier: Apache-2.0
 * kern/text/regex_compile.c - compiles the tree of an expression to the instructions of an NFA (Thompson). */
#include <string.h>

#include "base/macros.h"
#include "kern/text/regex_tree.h"

enum { MOST_CODE = 20000, MOST_VISITS = 1000000 };

typedef struct coder {
  ox_arena *arena;
  regex_inst *code;
  uint32_t n, capacity, visits; /* visits: of tree nodes; repeated empty ones take time although they make no code */
  bool full, oom;
} coder;

static uint32_t emit(coder *c, regex_inst in) {
  if (c->n == c->capacity) {
    uint32_t more = OX_MIN(2 * c->capacity, MOST_CODE);
    regex_inst *code = more > c->capacity ? ox_arena_array(c->arena, more, sizeof *code) : NULL;
    c->oom |= more > c->capacity && !code;
    if (!code) {
      c->full = true;
      return 0;
    }
    if (c->n) memcpy(code, c->code, c->n * sizeof *code);
    c->code = code, c->capacity = more;
  }
  c->code[c->n] = in;
  return c->n++;
}

static void compile(coder *c, const regex_node *n);

static void compile_repeat(coder *c, const regex_node *n) {
  for (int i = 0; i < n->min && !c->full; i++) compile(c, n->a);
  if (n->max < 0) { /* L: split body, out; body; jump L */
    uint32_t split = emit(c, (regex_inst){.op = RE_SPLIT});
    c->code[split].x = c->n;
    compile(c, n->a);
    emit(c, (regex_inst){.op = RE_JUMP, .x = split});
    c->code[split].y = c->n;
  }
  for (int i = n->min; i < n->max && !c->full; i++) {
    uint32_t split = emit(c, (regex_inst){.op = RE_SPLIT});
    c->code[split].x = c->n;
    compile(c, n->a);
    c->code[split].y = c->n;
  }
}

static void compile(coder *c, const regex_node *n) {
  if (c->full || (c->full = ++c->visits > MOST_VISITS)) return;
  switch (n->kind) {
    case NODE_EMPTY:
      break;
    case NODE_SET:
      emit(c, (regex_inst){.op = RE_SET, .x = c->n + 1, .set = n->set});
      break;
    case NODE_ASSERT:
      emit(c, (regex_inst){.op = RE_ASSERT, .x = c->n + 1, .y = (uint32_t)n->min});
      break;
    case NODE_REPEAT:
      compile_repeat(c, n);
      break;
    case NODE_CAT:
      compile(c, n->a);
      compile(c, n->b);
      break;
    case NODE_ALT: {
      uint32_t split = emit(c, (regex_inst){.op = RE_SPLIT});
      c->code[split].x = c->n;
      compile(c, n->a);
      uint32_t jump = emit(c, (regex_inst){.op = RE_JUMP});
      c->code[split].y = c->n;
      compile(c, n->b);
      c->code[jump].x = c->n;
      break;
    }
  }
}

ox_status *ox_regex_compile(ox_arena *arena, const char *pattern, size_t n, ox_regex **out_regex) {
  const regex_node *tree;
  *out_regex = NULL;
  OX_TRY(ox_regex_parse(arena, pattern, n, &tree));
  ox_regex *r = ox_arena_alloc(arena, sizeof *r);
  coder c = {.arena = arena, .code = OX_ARENA_ARRAY(arena, regex_inst, 64), .capacity = 64};
  if (!r || !c.code) return ox_oom();
  compile(&c, tree);
  emit(&c, (regex_inst){.op = RE_MATCH});
  if (c.oom) return ox_oom();
  if (c.full) return ox_fail(OX_LIMIT, "regular expression of more than %d steps", MOST_CODE);
  r->n = c.n, r->code = c.code;
  *out_regex = r;
  return ox_regex_build_dfa(arena, r);
}
