/* SPDX-License-Identifier: Apache-2.0
 * kern/qconv/qconv.h - direct convolution of bytes to bytes with channels last: QLinearConv with constant parameters.
 * Sums are exact 32-bit integers, the same bits on every instruction set (docs/conv.md).
 *
 * Internally X is unsigned and W signed with zero point 0: 128 is added to a signed X when it is copied, and W's zero
 * points are subtracted when it is packed. If the differences do not fit bytes, W becomes the sum of two byte matrices,
 * and each pixel is multiplied twice. Since sum (x - zx) w = sum x w - zx * sum w, the second term goes into the bias,
 * and padding is pixels of value zx. Where X needs padding, or the 128, or has channels first, a first stage copies it
 * into an image. */
#ifndef OX_KERN_QCONV_QCONV_H
#define OX_KERN_QCONV_QCONV_H

#include <stddef.h>

#include "kern/conv/conv.h"
#include "kern/quant/quantize.h"
#include "kern/quant/small_pairs.h"

/* A residual as com.microsoft's QLinearAdd adds it to the rounded result, of zero point |y_zero| (of s8, with 128
 * more). |z_first|: |sum|'s operands are the residual and the result, not the other way round. */
typedef struct ox_qconv_add {
  ox_byte_sum sum;
  int32_t y_zero;
  bool z_first;
} ox_qconv_add;

/* What becomes of sums: max(round(sum x scale) + zero, least), saturated to bytes. Signed ones are computed with 128
 * more, which |flip| takes off. With |add| least is that of the sum of both, and zero only those 128: the sum has its
 * zero point already. */
typedef struct ox_qconv_out {
  int32_t zero;
  uint8_t least, flip;     /* least: including the 128 of signed bytes; flip: 0 or 128, xored with each byte */
  bool small;              /* all scales are below 1, so that no scaled sum overflows int32 */
  const ox_qconv_add *add; /* NULL: none */
} ox_qconv_out;

/* A quad of the image that is multiplied by further weights: its segment and its place there, in bytes. */
typedef struct ox_qconv_extra {
  uint32_t segment, at;
} ox_qconv_extra;

/* What a panel of products that are kept in more than their bytes (I8_KEPT) has behind its scales. |pairs|: the panel
 * is [segment][quad][NR][4] bytes of small pairs, [n_extra][NR][4] more, and the extra quads' places. */
typedef struct ox_qconv_kept {
  uint64_t pairs, n_extra;
} ox_qconv_kept;

/* A product: |strips| strips of |m| pixels in one row of outputs, by a panel of up to NR output channels. */
typedef struct ox_qconv_rows {
  const uint8_t *x; /* the image at the first pixel's window */
  size_t x_step;    /* bytes from pixel to pixel */
  const ptrdiff_t *segment;
  size_t n_segments, quads; /* a pixel reads 4 x quads bytes at each segment */
  const int8_t *w;          /* [segment][quad][NR][4], in the form that simd/i8_kept.h says */
  const ox_qconv_extra *extra;
  bool pairs;
  size_t n_extra;
  const int32_t *bias;
  const float *scale;
  size_t m, strips, n; /* n: channels of the panel */
  uint8_t *y;
  const uint8_t *z; /* the residual, laid out like y; only with out.add */
  size_t y_step;
  ox_qconv_out out;
} ox_qconv_rows;

/* A depthwise convolution: |pixels| of a row, up to VI8_LANES channels. It does not add a residual. */
typedef struct ox_qconv_lanes {
  const uint8_t *x;
  size_t x_step;
  const ptrdiff_t *tap; /* offsets of the taps, in groups of I8_TAPS */
  size_t groups;
  const int8_t *w; /* [group][VI8_LANES][4 bytes]; lanes, also of bias and scale, are in the order of vi8_at */
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
  uint16_t kept, taps;    /* I8_KEPT, I8_TAPS */
  void (*rows)(const ox_qconv_rows *r);
  void (*depthwise)(const ox_qconv_lanes *d);
  /* Adds the residual as |out| says to |n| results that are bytes already, in place: for kernels that do not. */
  void (*finish)(uint8_t *y, const uint8_t *z, size_t n, const ox_qconv_out *out);
  size_t (*lane_at)(size_t i); /* the index of the byte in lane i of VI8_LANES */
  /* Sums of signed bytes in |count| consecutive rows of |n| quads: to[i] = sum of all bytes of quads i, i + n, ... */
  void (*sums)(const int8_t *w, size_t n, size_t count, int32_t *to);
  /* Bring quads of signed bytes into the form that rows and depthwise read: whole vectors of quads, and quads of
   * VI8_LANES lanes for |groups| groups of taps. split: as simd/i8_kept.h says, of NR quads. */
  void (*keep)(const int8_t *w, size_t quads, int8_t *to);
  ox_split_pairs_fn *split;
  void (*keep_taps)(const int8_t *w, size_t groups, int8_t *to);
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
  int64_t channels, out_channels; /* over all groups */
  /* the image: X itself, or a copy */
  int64_t lo[OX_CONV_AXES], extent[OX_CONV_AXES]; /* its first coordinate and its length on each axis */
  int64_t image_rows, rows_per_tile;              /* rows of all images; rows per tile of stage 0 */
  size_t row_bytes, image_bytes;
  /* taps */
  int64_t n_segments, quads; /* |twice|: first all of one half of W, then of the other */
  ptrdiff_t *segment;        /* from the caller; depthwise: taps, in groups of v->taps */
  /* outputs */
  int64_t rows, width;    /* rows of outputs, whose pixels and inputs are contiguous */
  int64_t strips, tall;   /* strips per row; the first |tall| have |height| pixels, the others one less */
  int64_t height, panels; /* panels: over all groups */
  int64_t tile_strips, tile_panels, tiles_strips;
  int64_t fold, blocks; /* depthwise: |fold| pixels together make |blocks| whole vectors */
  /* results */
  size_t table_bytes;
  uint32_t n_stages;
  int64_t n_tiles[2];
} ox_qconv_plan;

typedef struct ox_qconv_args {
  const uint8_t *x;
  const void *packed;
  uint8_t *image; /* image_bytes */
  uint8_t pad;    /* the zero point of X, in X's own type */
  ox_qconv_out out;
  uint8_t *y; /* channels last */
  const uint8_t *z;
} ox_qconv_args;

/* Does each group have one input and one output channel? */
static inline bool ox_qconv_is_depthwise(int64_t ic, int64_t oc) { return ic == 1 && oc == 1; }
/* False: another algorithm is faster. Afterwards the caller sets p->segment to p->table_bytes of memory and calls
 * ox_qconv_plan_tables. |twice|: W minus its zero points has values that do not fit a byte, but none of 255. */
bool ox_qconv_plan_init(ox_qconv_plan *p, const ox_conv_geom *g, ox_isa have, bool x_signed, bool x_last, bool twice);
void ox_qconv_plan_tables(ox_qconv_plan *p);
void ox_qconv_run(const ox_qconv_plan *p, const ox_qconv_args *a, uint32_t stage, int64_t begin, int64_t end);

/* ---- weights ---- */
typedef struct ox_qconv_weights {
  const uint8_t *w;    /* [groups x oc][ic][taps] */
  uint8_t flip;        /* 128: W is unsigned */
  const uint8_t *zero; /* W's zero points, of its type: one per output channel, or one for all (step 0); NULL: |flip| */
  int64_t zero_step;
  int32_t x_zero;      /* X's zero point, plus 128 for signed bytes */
  const void *bias;    /* int32 per output channel, unaligned; NULL: none */
  const void *w_scale; /* floats, unaligned: one per output channel, or one for all (step 0) */
  int64_t w_scale_step;
  float x_scale, y_scale; /* sums are scaled by x_scale * w_scale / y_scale */
} ox_qconv_weights;
/* Independent units of packing, bytes of all packed weights, bytes of scratch per thread. */
int64_t ox_qconv_weight_units(const ox_qconv_plan *p);
/* Bytes of a unit: the kept weights, depth for each of its columns, a bias and a scale for each, an ox_qconv_kept. */
int64_t ox_qconv_columns(const ox_qconv_plan *p);
int64_t ox_qconv_depth(const ox_qconv_plan *p);
static inline bool ox_qconv_splits(const ox_qconv_plan *p) { return !p->depthwise && p->v->kept > 1; }
static inline size_t ox_qconv_unit_bytes(const ox_qconv_plan *p) {
  return (size_t)((ox_qconv_depth(p) + 8) * ox_qconv_columns(p)) + (ox_qconv_splits(p) ? 64 : 0);
}
size_t ox_qconv_weight_bytes(const ox_qconv_plan *p); /* 0: too large */
size_t ox_qconv_weight_scratch(const ox_qconv_plan *p);
void ox_qconv_pack(const ox_qconv_plan *p, const ox_qconv_weights *w, int64_t begin, int64_t end, void *to,
                   void *scratch);

#endif
