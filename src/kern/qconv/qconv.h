/* SPDX-License-Identifier: Apache-2.0
 * kern/qconv/qconv.h - convolution of bytes to bytes, channels last, straight from the image: what QLinearConv with
 * constant parameters comes down to. Exact 32-bit sums, the same bits on every instruction set (docs/conv.md).
 *
 * Inside, X is unsigned and W signed, zero point 0: s8 X gets 128 added when it is copied, W loses its zero points when
 * it is packed. If that leaves no bytes, W is the sum of two that are, and each pixel is multiplied twice. So sum (x -
 * zx) w = sum x w - zx * sum w, whose second term is in the bias: padding is just pixels of zx. Where X needs padding,
 * or 128, or lies channels first, a first stage copies it into an image. */
#ifndef OX_KERN_QCONV_QCONV_H
#define OX_KERN_QCONV_QCONV_H

#include <stddef.h>

#include "kern/conv/conv.h"

/* A residual as com.microsoft's QLinearAdd adds it to the rounded result: scales of the result, of |z| and of the sum,
 * zero points of the former two (of s8, with 128 more). */
typedef struct ox_qconv_add {
  float y_scale, z_scale, scale;
  int32_t y_zero, z_zero;
} ox_qconv_add;

/* What becomes of sums: max(round(sum x scale) + zero, least), saturated to bytes. Signed ones are computed with 128
 * more, which |flip| takes off. With |add| zero and least are those of the sum of both. */
typedef struct ox_qconv_out {
  int32_t zero;
  uint8_t least, flip;     /* of s8, least has the 128; flip: xor of each byte, 0 or 128 */
  bool small;              /* all scales are below 1, so that no scaled sum leaves int32 */
  const ox_qconv_add *add; /* NULL: none */
} ox_qconv_out;

/* A product: |strips| times |m| pixels of one row of outputs, by a panel of up to NR output channels. */
typedef struct ox_qconv_rows {
  const uint8_t *x; /* under the first pixel */
  size_t x_step;    /* bytes from pixel to pixel */
  const ptrdiff_t *segment;
  size_t n_segments, quads; /* a pixel reads 4 x quads bytes at each segment */
  const int8_t *w;          /* [segment][quad][NR][4] */
  const int32_t *bias;
  const float *scale;
  size_t m, strips, n; /* n: channels of the panel */
  uint8_t *y;
  const uint8_t *z; /* the residual, as y lies; with out.add only */
  size_t y_step;
  ox_qconv_out out;
} ox_qconv_rows;

/* Depthwise: |pixels| of a row, up to VI8_LANES channels. Takes no residual. */
typedef struct ox_qconv_lanes {
  const uint8_t *x;
  size_t x_step;
  const ptrdiff_t *tap; /* four for each group */
  size_t groups;
  const int8_t *w; /* [group][VI8_LANES][4], lanes in the order of vi8_at, as those of bias and scale */
  const int32_t *bias;
  const float *scale;
  size_t pixels, n;
  uint8_t *y;
  size_t y_step;
  ox_qconv_out out;
} ox_qconv_lanes;

typedef struct ox_qconv_variant {
  ox_isa needs;
  uint16_t mr, nr, lanes; /* lanes: VI8_LANES */
  void (*rows)(const ox_qconv_rows *r);
  void (*depthwise)(const ox_qconv_lanes *d);
  /* What |out| says becomes of |n| results, bytes already, in place: for those who store without it. */
  void (*finish)(uint8_t *y, const uint8_t *z, size_t n, const ox_qconv_out *out);
  size_t (*lane_at)(size_t i); /* which byte lane i of VI8_LANES is */
  /* Sums of |n| quads of signed bytes, |count| times one after the other: to[i] = sum of all bytes of quads i, i + n
   * ... */
  void (*sums)(const int8_t *w, size_t n, size_t count, int32_t *to);
  void (*copy)(uint8_t *to, const uint8_t *from, size_t n, uint8_t flip); /* may be in place */
  const char *name;
} ox_qconv_variant;
const ox_qconv_variant *ox_qconv_select(ox_isa have);
/* All variants, best first: for tests. */
const ox_qconv_variant *const *ox_qconv_variants(size_t *out_n);

typedef struct ox_qconv_plan {
  ox_conv_geom g;
  const ox_qconv_variant *v;
  ox_isa have;
  bool depthwise, x_signed, x_last, in_place, twice;
  int64_t channels, out_channels; /* of all groups */
  /* the image: X itself, or a copy */
  int64_t lo[OX_CONV_AXES], extent[OX_CONV_AXES]; /* the coordinate it begins with, and how long it is */
  int64_t image_rows, rows_per_tile;              /* of all images; of a tile of stage 0 */
  size_t row_bytes, image_bytes;
  /* taps */
  int64_t n_segments, quads; /* |twice|: first all of one half of W, then of the other */
  ptrdiff_t *segment; /* from the caller; depthwise: taps, in fours */
  /* outputs */
  int64_t rows, width;    /* a row of outputs lies together, as do the pixels under it */
  int64_t strips, tall;   /* of a row; the first |tall| have |height| pixels, others one less */
  int64_t height, panels; /* panels: of all groups */
  int64_t tile_strips, tile_panels, tiles_strips;
  int64_t fold, blocks; /* depthwise: pixels that make one of |blocks| whole vectors */
  /* results */
  size_t table_bytes;
  uint32_t n_stages;
  int64_t n_tiles[2];
} ox_qconv_plan;

typedef struct ox_qconv_args {
  const uint8_t *x;
  const void *packed;
  uint8_t *image; /* image_bytes */
  uint8_t pad;    /* the zero point of X, as X has it */
  ox_qconv_out out;
  uint8_t *y; /* channels last */
  const uint8_t *z;
} ox_qconv_args;

/* One output channel a group, of one input channel. */
static inline bool ox_qconv_is_depthwise(int64_t ic, int64_t oc) { return ic == 1 && oc == 1; }
/* False: another form serves better. p->segment is the caller's to give, p->table_bytes, before ox_qconv_plan_tables.
 * |twice|: W less its zero points has values beyond a byte, but none of 255. */
bool ox_qconv_plan_init(ox_qconv_plan *p, const ox_conv_geom *g, ox_isa have, bool x_signed, bool x_last, bool twice);
void ox_qconv_plan_tables(ox_qconv_plan *p);
void ox_qconv_run(const ox_qconv_plan *p, const ox_qconv_args *a, uint32_t stage, int64_t begin, int64_t end);

/* ---- weights ---- */
typedef struct ox_qconv_weights {
  const uint8_t *w;    /* [groups x oc][ic][taps] */
  uint8_t flip;        /* 128: W is unsigned */
  const uint8_t *zero; /* of W, its type: one for each output channel, or, of step 0, one for all; NULL: |flip| */
  int64_t zero_step;
  int32_t x_zero;      /* that of X, with the 128 of s8 */
  const void *bias;    /* int32 for each output channel, at any address; NULL: none */
  const void *w_scale; /* floats at any address: one for each output channel, or, of step 0, one for all */
  int64_t w_scale_step;
  float x_scale, y_scale; /* sums count x_scale x w_scale / y_scale */
} ox_qconv_weights;
/* Units of independent work, bytes of all, bytes of scratch for one thread. */
int64_t ox_qconv_weight_units(const ox_qconv_plan *p);
size_t ox_qconv_weight_bytes(const ox_qconv_plan *p); /* 0: too many */
size_t ox_qconv_weight_scratch(const ox_qconv_plan *p);
void ox_qconv_pack(const ox_qconv_plan *p, const ox_qconv_weights *w, int64_t begin, int64_t end, void *to,
                   void *scratch);

#endif
