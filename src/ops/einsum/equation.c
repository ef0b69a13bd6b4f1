/* SPDX-License-Identifier: Apache-2.0
 * ops/einsum/equation.c - the parser. Blanks mean nothing; without "->" the result has the labels that occur once, in
 * alphabetical order, after the ellipsis. */
#include "ops/einsum/equation.h"

#include <string.h>

static int letter(char c) { return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1; }

/* One term from |*at| up to a comma, an arrow or the end. |dots|: dimensions its ellipsis stands for; -1: as many as
 * |rank| leaves. */
static ox_status *parse_term(const char **at, int rank, int dots, ein_term *t, int *out_dots) {
  uint8_t before[OX_MAX_RANK], after[OX_MAX_RANK];
  int n[2] = {0, 0}, side = 0;
  for (; **at && **at != ',' && **at != '-'; (*at)++) {
    if (**at == ' ') continue;
    if (strncmp(*at, "...", 3) == 0) {
      if (side) return ox_fail(OX_INVALID_MODEL, "Einsum: a term has two ellipses");
      side = 1, *at += 2;
      continue;
    }
    int l = letter(**at);
    if (l < 0) return ox_fail(OX_INVALID_MODEL, "Einsum: '%c' in the equation", **at);
    if (n[0] + n[1] == OX_MAX_RANK) return ox_fail(OX_INVALID_MODEL, "Einsum: a term has too many labels");
    (side ? after : before)[n[side]++] = (uint8_t)l;
  }
  int hidden = !side ? 0 : dots >= 0 ? dots : rank - n[0] - n[1];
  if (hidden < 0 || n[0] + n[1] + hidden > OX_MAX_RANK || (rank >= 0 && n[0] + n[1] + hidden != rank))
    return ox_fail(OX_INVALID_MODEL, "Einsum: a term has %d labels, its operand %d dimensions", n[0] + n[1], rank);
  t->rank = n[0] + hidden + n[1];
  memcpy(t->label, before, (size_t)n[0]);
  for (int i = 0; i < hidden; i++) t->label[n[0] + i] = (uint8_t)(EIN_DOTS + hidden - 1 - i);
  memcpy(t->label + n[0] + hidden, after, (size_t)n[1]);
  if (out_dots) *out_dots = OX_MAX(*out_dots, hidden);
  return NULL;
}

static ox_status *implicit_out(const int *seen, int dots, ein_term *out) {
  out->rank = 0;
  for (int i = dots - 1; i >= 0; i--) out->label[out->rank++] = (uint8_t)(EIN_DOTS + i);
  for (int l = 0; l < EIN_DOTS; l++) {
    if (seen[l] != 1) continue;
    if (out->rank == OX_MAX_RANK) return ox_fail(OX_INVALID_MODEL, "Einsum: the result has too many dimensions");
    out->label[out->rank++] = (uint8_t)l;
  }
  return NULL;
}

ox_status *ein_parse(const char *equation, int n_terms, const int *ranks, ein_equation *e) {
  const char *at = equation;
  int seen[EIN_LABELS] = {0}, dots = 0, in_out[EIN_LABELS] = {0};
  if (n_terms < 1 || n_terms > EIN_TERMS) return ox_fail(OX_INVALID_MODEL, "Einsum: %d operands", n_terms);
  e->n_terms = n_terms;
  for (int i = 0; i < n_terms; i++) {
    OX_TRY(parse_term(&at, ranks[i], -1, &e->term[i], &dots));
    for (int d = 0; d < e->term[i].rank; d++) seen[e->term[i].label[d]]++;
    if (i + 1 < n_terms && *at++ != ',')
      return ox_fail(OX_INVALID_MODEL, "Einsum: fewer terms than operands in '%s'", equation);
  }
  if (*at == ',') return ox_fail(OX_INVALID_MODEL, "Einsum: more terms than operands in '%s'", equation);
  if (!*at) return implicit_out(seen, dots, &e->out);
  if (at[1] != '>') return ox_fail(OX_INVALID_MODEL, "Einsum: '-' without '>' in '%s'", equation);
  at += 2;
  OX_TRY(parse_term(&at, -1, dots, &e->out, NULL));
  if (*at) return ox_fail(OX_INVALID_MODEL, "Einsum: '%s' goes on after the result", equation);
  for (int d = 0; d < e->out.rank; d++) {
    int l = e->out.label[d];
    if (in_out[l]++) return ox_fail(OX_INVALID_MODEL, "Einsum: the result repeats a label in '%s'", equation);
    if (!seen[l]) return ox_fail(OX_INVALID_MODEL, "Einsum: the result has a label no operand has in '%s'", equation);
  }
  return NULL;
}
