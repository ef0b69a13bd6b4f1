/* SPDX-License-Identifier: Apache-2.0
 * ops/moe/moe_sort.c - see moe_sort.h. */
#include "ops/moe/moe_sort.h"

#include <string.h>

ox_moe_places ox_moe_take_order(size_t *at, int64_t rows, int64_t experts, int64_t most_busy) {
  ox_moe_places p;
  p.expert = ox_moe_take(at, rows, sizeof(int64_t)), p.place = ox_moe_take(at, rows, sizeof(int64_t));
  p.first = ox_moe_take(at, experts + 1, sizeof(int64_t)), p.busy = ox_moe_take(at, most_busy, sizeof(int64_t));
  return p;
}

ox_moe_order ox_moe_order_at(const ox_kernel_ctx *c, const ox_moe_places *p) {
  return (ox_moe_order){ox_moe_shared(c, p->expert), ox_moe_shared(c, p->place), ox_moe_shared(c, p->first),
                        ox_moe_shared(c, p->busy)};
}

void ox_moe_sort(const ox_moe_order *o, int64_t rows, int64_t experts, int64_t most_busy) {
  int64_t *first = o->first, n_busy = 0;
  memset(first, 0, (size_t)(experts + 1) * sizeof *first);
  for (int64_t i = 0; i < rows; i++) first[o->expert[i] + 1]++;
  for (int64_t e = 0; e < experts; e++) {
    if (first[e + 1]) o->busy[n_busy++] = e;
    first[e + 1] += first[e];
  }
  while (n_busy < most_busy) o->busy[n_busy++] = -1;
  for (int64_t i = 0; i < rows; i++) o->place[i] = first[o->expert[i]]++;
  for (int64_t e = experts; e > 0; e--) first[e] = first[e - 1];
  first[0] = 0;
}

void ox_moe_run_group(const ox_kernel_ctx *c, const ox_moe_places *p, const ox_dense *l, int64_t busy, int64_t group,
                      size_t x, size_t y, void *scratch) {
  const ox_moe_order o = ox_moe_order_at(c, p);
  const int64_t e = o.busy[busy];
  if (e < 0) return;
  const float *from = (const float *)ox_moe_shared(c, x) + o.first[e] * l->k;
  float *to = (float *)ox_moe_shared(c, y) + o.first[e] * l->n + group * OX_DENSE_GROUP;
  ox_dense_run(c, l, &(ox_dense_job){e, o.first[e + 1] - o.first[e], from, to, (size_t)l->n}, group, scratch);
}
