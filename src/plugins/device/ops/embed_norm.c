/* SPDX-License-Identifier: Apache-2.0
 * device/ops/embed_norm.c - com.microsoft's EmbedLayerNormalization: rows of tables are gathered, added and normalized.
 */
#include "plugins/device/emit.h"
#include "plugins/device/kernels/fill_params.h"
#include "plugins/device/kernels/move_params.h"
#include "plugins/device/kernels/rows_params.h"
#include "plugins/device/kernels/skip_norm_params.h"

enum { IDS, SEGMENTS, WORD, POSITION, SEGMENT, GAMMA, BETA, MASK, PLACES };
enum { Y, COUNTS, SUM };

static bool has_in(const dev_node *n, size_t i) { return dev_in_count(n) > i && dev_in(n, i) != UINT32_MAX; }
static uint32_t out_of(const dev_node *n, size_t i) {
  return n->host->node_out_count(n->graph, n->index) > i ? dev_out(n, i) : UINT32_MAX;
}

static const char *takes(const dev_node *n) {
  static const size_t tables[] = {WORD, POSITION, SEGMENT}, ids[] = {IDS, SEGMENTS, PLACES}, rows[] = {GAMMA, BETA};
  int64_t width = dev_in_dim(n, WORD, 1);
  for (size_t i = 0; i < DEV_LENGTH(tables); i++) {
    if (tables[i] == SEGMENT && !has_in(n, SEGMENT)) continue;
    if (dev_in_dtype(n, tables[i]) != OX_F32) return REASON("tables of float32", "{2}, {3}, {4}");
    if (dev_in_rank(n, tables[i]) != 2 || width < 0 || dev_in_dim(n, tables[i], 1) != width)
      return REASON("matrices of one known width as tables", "{2}, {3}, {4}");
  }
  for (size_t i = 0; i < DEV_LENGTH(rows); i++)
    if (dev_in_dtype(n, rows[i]) != OX_F32 || dev_in_rank(n, rows[i]) != 1 || dev_in_dim(n, rows[i], 0) != width)
      return REASON("a scale and a bias as long as the tables are wide", "{5}, {6}");
  for (size_t i = 0; i < DEV_LENGTH(ids); i++)
    if (has_in(n, ids[i]) && (dev_in_dtype(n, ids[i]) != OX_I32 || dev_in_rank(n, ids[i]) != 2))
      return REASON("ids of int32 and 2 axes", "{0}, {1}");
  if (has_in(n, SEGMENTS) != has_in(n, SEGMENT)) return REASON("segments and their table", "{1}, {4}");
  return has_in(n, MASK) && out_of(n, COUNTS) != UINT32_MAX ? REASON("no count of what the mask has", "{7}, {>1}")
                                                            : NULL;
}

/* Gathers the rows of input |table| selected by input |ids|. */
static ox_status *gather_rows(dev_plan *p, const dev_node *n, size_t table, size_t ids, dev_ref *out) {
  const ox_shape *s = dev_shape(p, dev_in(n, table));
  int64_t many = dev_count(p, dev_in(n, ids));
  gather_params params = {
      .n = (int)(many * s->dim[1]), .many = (int)many, .axis = (int)s->dim[0], .inner = (int)s->dim[1]};
  *out = dev_temp(p, (size_t)params.n * sizeof(float));
  if (params.n && !params.axis) return dev_refuse(p, "an index into nothing");
  dev_call c = {.source = "gather",
                .kernel = "gather4",
                .dtype = OX_F32,
                .n_buffers = 3,
                .buffers = {dev_value(p, dev_in(n, table)), dev_value(p, dev_in(n, ids)), *out},
                .written = 1u << 2,
                DEV_PARAMS(params)};
  return dev_emit_items(p, &c, params.n);
}

/* Without a mask the counts are 0. */
static ox_status *emit_counts(dev_plan *p, uint32_t counts) {
  fill_params zeros = {.n = (int)dev_count(p, counts)};
  dev_call c = {.source = "fill",
                .kernel = "fill4",
                .dtype = OX_F32,
                .n_buffers = 1,
                .buffers = {dev_value(p, counts)},
                .written = 1,
                DEV_PARAMS(zeros)};
  return dev_emit_items(p, &c, zeros.n);
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  int64_t width = dev_shape(p, dev_in(n, WORD))->dim[1], rows = dev_count(p, dev_in(n, IDS)), count = rows * width;
  int64_t positions = has_in(n, PLACES) ? dev_count(p, dev_in(n, PLACES)) : dev_shape(p, dev_in(n, IDS))->dim[1];
  dev_ref sum, place = dev_value(p, dev_in(n, POSITION)), segment;
  if (out_of(n, COUNTS) != UINT32_MAX) DEV_TRY(emit_counts(p, out_of(n, COUNTS)));
  if (count == 0) return NULL;
  if (positions == 0 || rows % positions) return dev_refuse(p, "positions that do not fit the ids");
  if (!has_in(n, PLACES) && positions > dev_shape(p, dev_in(n, POSITION))->dim[0])
    return dev_refuse(p, "more ids than the table has positions");
  DEV_TRY(gather_rows(p, n, WORD, IDS, &sum));
  if (has_in(n, PLACES)) DEV_TRY(gather_rows(p, n, POSITION, PLACES, &place));
  if (has_in(n, SEGMENTS)) {
    dev_tail add = dev_tail_none(UINT32_MAX);
    if (dev_count(p, dev_in(n, SEGMENTS)) != rows) return dev_refuse(p, "segments that do not fit the ids");
    DEV_TRY(gather_rows(p, n, SEGMENT, SEGMENTS, &segment));
    dev_tail_operand(&add, TAIL_ADD, segment, 1, count);
    DEV_TRY(dev_emit_tail(p, &add, sum, OX_F32, count));
  }
  skip_norm_params params = {.n = (int)width,
                             .skip_n = (int)(positions * width),
                             .centred = 1,
                             .has_shift = 1,
                             .wants_sum = out_of(n, SUM) != UINT32_MAX,
                             .epsilon = dev_attr_float(n, "epsilon", 1e-12f)};
  dev_ref y = out_of(n, Y) != UINT32_MAX ? dev_value(p, dev_out(n, Y)) : dev_temp(p, (size_t)count * sizeof(float));
  const dev_call c = {.source = "skip_norm",
                      .kernel = "skip_norm",
                      .dtype = OX_F32,
                      .groups = {(uint32_t)rows},
                      .items = ROWS_ITEMS,
                      .n_buffers = 7,
                      .written = 3u << 5,
                      DEV_PARAMS(params),
                      .buffers = {sum,
                                  place,
                                  {DEV_REF_NONE, 0, 0},
                                  dev_value(p, dev_in(n, GAMMA)),
                                  dev_value(p, dev_in(n, BETA)),
                                  y,
                                  dev_value(p, out_of(n, SUM))}};
  return dev_emit(p, &c);
}

static const char *const names[] = {"EmbedLayerNormalization", NULL};
DEV_OP(embed_norm) = {"com.microsoft", names, takes, emit};
