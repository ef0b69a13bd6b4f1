/* SPDX-License-Identifier: Apache-2.0
 * kern/conv/conv_i8.h - convolution of channels-last bytes with exact 32-bit sums: inputs are gathered to rows for the
 * 8-bit product (gemm_i8.h); depthwise ones have channels in lanes. The same bits on every instruction set. */
#ifndef OX_KERN_CONV_CONV_I8_H
#define OX_KERN_CONV_CONV_I8_H

#include "kern/conv/conv.h"
#include "kern/gemm/gemm_i8.h"

/* One output pixel of a depthwise convolution, all channels. */
typedef struct ox_conv_i8_pixel {
  const uint8_t *const *x; /* channel 0 of the pixel under each tap that is inside the image */
  const int32_t *const *w; /* that tap's weights minus their zero points, by channel */
  size_t n_taps, channels;
  bool x_signed;
  int32_t x_zero;
  const int32_t *bias; /* by channel; NULL: none */
  const float *scale;  /* by channel; unused for OX_I32 */
  uint32_t type;       /* OX_I32, OX_U8, OX_I8 */
  int32_t y_zero;
  void *y;
} ox_conv_i8_pixel;

typedef struct ox_conv_i8_variant {
  ox_isa needs;
  const char *name;
  void (*pixel)(const ox_conv_i8_pixel *p);
} ox_conv_i8_variant;
const ox_conv_i8_variant *ox_conv_i8_select(ox_isa have);

typedef struct ox_conv_i8_plan {
  ox_conv_geom g;
  const ox_gemm_i8_variant *gemm;
  const ox_conv_i8_variant *v;
  bool depthwise, pointwise;
  bool adjacent; /* the taps of a row are adjacent pixels, so that their bytes are contiguous */
  int64_t taps, k, pixels, in_pixels, tile_px, tiles_px;
  ox_gemm_i8_plan whole, rest; /* products of a tile and of the last tile */
  size_t gather_bytes;
  /* results */
  int64_t n_tiles;
  size_t scratch_bytes;
} ox_conv_i8_plan;

typedef struct ox_conv_i8_args {
  const uint8_t *x;   /* [batch][pixels][channels] */
  const void *packed; /* groups of ox_conv_i8_group_bytes; depthwise: int32 [tap][channel], zero point subtracted */
  bool x_signed, w_signed;
  const void *x_zero, *w_zero; /* bytes; NULL: 0 */
  size_t w_zero_step;          /* 1: one per output channel; 0: one for all */
  const int32_t *bias;
  const float *scale; /* by output channel; NULL with OX_I32 */
  uint32_t type;
  int32_t y_zero;
  void *y; /* [batch][pixels][channels] */
} ox_conv_i8_args;

enum { OX_CONV_I8_TAPS = 64 }; /* larger depthwise windows run as products */
static inline bool ox_conv_i8_is_depthwise(int64_t ic, int64_t oc, int64_t taps) {
  return ic == 1 && oc == 1 && taps <= OX_CONV_I8_TAPS;
}
bool ox_conv_i8_plan_init(ox_conv_i8_plan *p, const ox_conv_geom *g, ox_isa have);
void ox_conv_i8_run(const ox_conv_i8_plan *p, const ox_conv_i8_args *a, int64_t begin, int64_t end, void *scratch);

/* Bytes of one group's packed weights. */
size_t ox_conv_i8_group_bytes(const ox_gemm_i8_variant *v, int64_t oc, int64_t k);
/* Packs panel |panel| of one group of w [oc][ic][taps]; |temp|: nr * ic * taps bytes. */
void ox_conv_i8_pack_panel(const ox_gemm_i8_variant *v, const void *w, bool w_signed, int64_t oc, int64_t ic,
                           int64_t taps, int64_t panel, void *temp, void *packed);
/* Depthwise: w [groups][taps] minus its zero points (bytes of its type; NULL: 0), as int32 [taps][groups]. */
void ox_conv_i8_pack_depthwise(const void *w, bool w_signed, int64_t groups, int64_t taps, const void *zero,
                               size_t zero_step, int32_t *packed);

#endif
