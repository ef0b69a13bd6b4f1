/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/attention_params.h - softmax(scale q k' + bias) v, read by the host and by kernels. */
#ifndef OX_DEVICE_ATTENTION_PARAMS_H
#define OX_DEVICE_ATTENTION_PARAMS_H

enum {
  ATT_ROWS = 64,   /* rows of a tile */
  ATT_KEYS = 64,   /* keys per iteration of a tile; splits are multiples of it */
  ATT_STEP = 8,    /* elements of a row of Q and K that are in local memory at a time */
  ATT_FEW = 8,     /* most rows of attention_few */
  ATT_RANGE = 256, /* most keys of a split of attention_few */
  ATT_WIDEST = 256 /* most elements of a row of V; for attention_few of Q and K, too */
};

/* The kind of a bias. BOOL: 0 masks a key out. I32: |filter| is added where it is 0 or less. LENGTHS, of int32:
 * |filter| is added to keys from bias[batch item] on and, if |key| is set, to those before bias[batch + batch item]. */
enum { ATT_BIAS_NONE, ATT_BIAS_F32, ATT_BIAS_F16, ATT_BIAS_BOOL, ATT_BIAS_I32, ATT_BIAS_LENGTHS };
enum { ATT_LENS_NONE, ATT_LENS_I32, ATT_LENS_I64 };

/* Element (b, h, s, t) is at b * batch + h * head + min(s + first_row, last_row) * row + (t - skip) * key. Keys before
 * |skip| have no bias, those from |n| on are masked out. */
typedef struct {
  int kind, batch, head, row, key;
  int first_row, last_row, skip, n;
  float filter;
} attention_bias;

/* Strides in elements. |per| heads of Q share a head of K and V; their rows are processed as one list. */
typedef struct {
  int batch, heads, kv_heads, per, q_len, kv_len, d, dv;
  int q_batch, q_head, q_row, k_batch, k_head, k_row, v_batch, v_head, v_row, o_batch, o_head, o_row;
  int q_wide, k_wide, v_wide, o_wide; /* aligned for vector loads of four elements */
  float scale, softcap;               /* 0: none */
  int left, right, offset;            /* row s sees keys s + offset - left to s + offset + right; -1: no bound */
  int lens, lens_add, lens_offset; /* keys of a batch item: lens[b] + lens_add; lens_offset: offset is these - q_len, 2: or 0 */
  int has_sink;
  int nan_to_zero; /* rows whose weights are NaN, since a score is NaN or inf, give zeros */
  int splits, split_keys; /* splits > 1: sums of each go to a buffer of floats, and attention_combine adds them up */
  attention_bias bias[2];
} attention_params;

#endif
