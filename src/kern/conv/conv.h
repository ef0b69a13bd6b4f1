/* SPDX-License-Identifier: Apache-2.0
 * kern/conv/conv.h - float32 convolution of any geometry on NCHW data: planning and tiles.
 *
 * Every convolution is a strided correlation with explicit tap offsets: output o of an axis reads inputs
 * o * stride + tap[t]. A plain convolution and each phase of a transposed convolution have this form.
 * Weights are read in place, [group][oc][k], k = (channel, tap d, h, w). */
#ifndef OX_KERN_CONV_CONV_H
#define OX_KERN_CONV_CONV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cpu.h"
#include "base/macros.h"
#include "base/stop.h"
#include "kern/act.h"
#include "kern/gemm/gemm.h"

enum { OX_CONV_AXES = 3, OX_CONV_GATHER = 384 /* largest number of pixels of one call of |gather| */ };

typedef struct ox_conv_geom {
  int64_t batch, groups;
  int64_t ic, oc; /* per group */
  int64_t in[OX_CONV_AXES], out[OX_CONV_AXES], stride[OX_CONV_AXES];
  int64_t n_taps[OX_CONV_AXES];
  const int64_t *tap[OX_CONV_AXES]; /* the input coordinate that tap t of output 0 reads; may be outside the input */
} ox_conv_geom;

typedef struct ox_conv_plan ox_conv_plan;
typedef struct ox_conv_args ox_conv_args;
/* What a depthwise block must write into its scratch planes: everything, all but the padding, or nothing. */
typedef enum ox_conv_fill { OX_CONV_FILL_ALL, OX_CONV_FILL_INSIDE, OX_CONV_FILL_NONE } ox_conv_fill;

typedef struct ox_conv_variant {
  ox_isa needs;
  const char *name;
  uint32_t lanes;
  /* Writes rows [k0, k1) of B for pixels [p0, p1) of one image and group, |ld| floats from row to row, with zeros after
   * the pixels up to whole panels. */
  void (*gather)(const ox_conv_plan *p, const float *x, float *dst, size_t ld, int64_t k0, int64_t k1, int64_t p0,
                 int64_t p1);
  /* DEPTHWISE: one block of |count| output channels from |unit| = (image * groups + group) * oc + channel on. */
  void (*depthwise)(const ox_conv_plan *p, const ox_conv_args *a, int64_t unit, int64_t count, int64_t block,
                    float *scratch, ox_conv_fill fill);
  /* y[r][i] = act(y[r][i] + bias[r] + z[r][i]) for rows x n; bias and z may be NULL. */
  void (*finish)(const ox_act *act, float *y, size_t ldy, const float *bias, const float *z, size_t rows, size_t n);
} ox_conv_variant;

/* The best variant for |have|; never NULL. */
const ox_conv_variant *ox_conv_select(ox_isa have);
/* All variants, best first: for tests. */
const ox_conv_variant *const *ox_conv_variants(size_t *out_n);

typedef enum ox_conv_mode {
  OX_CONV_EMPTY,     /* no output elements */
  OX_CONV_DEPTHWISE, /* one input channel per group */
  OX_CONV_PIXELS,    /* a matrix product W B whose columns are pixels */
  OX_CONV_FEW        /* few pixels: a matrix product B' W' whose columns are channels */
} ox_conv_mode;

typedef struct ox_conv_planes {
  int64_t block[OX_CONV_AXES], n_block[OX_CONV_AXES]; /* extents of a block of outputs, number of blocks */
  bool by_tap;                     /* taps are far apart: one plane per tap instead of one per phase of the strides */
  int64_t n_planes[OX_CONV_AXES];  /* planes of a block ... */
  int64_t phase_len[OX_CONV_AXES]; /* ... and the extents of each */
  int64_t tap_min[OX_CONV_AXES];   /* the smallest tap offset of each axis */
  int64_t tile_ch;                 /* channels of a tile; 0: a tile is one block of one channel */
  int64_t slots, slot, flat_at; /* channels at a time; floats of scratch per channel; offset of the outputs in them */
  float lo, hi;                 /* bounds, applied when sums are stored */
  bool post;                    /* the activation is not a clamp: it is a pass of its own */
  bool pool_max;                /* maximum instead of weighted sum */
  bool one_filter;              /* all channels share the weights of the first */
  float pad;                    /* the value outside the input */
  int32_t *tap_off;             /* [n_taps] into the phase planes */
  bool by_row; /* outputs are computed row by row into y; else as one long row in scratch, then copied */
} ox_conv_planes;

typedef struct ox_conv_pixels {
  ox_gemm_plan gemm;     /* of one image and group */
  bool shared;           /* stage 0 writes B of all images and groups to shared memory, in panels */
  int64_t part_k, parts; /* rows of a panel that a tile of stage 0 writes; tiles per panel */
} ox_conv_pixels;

typedef struct ox_conv_few {
  const ox_gemm_variant *v;
  bool direct;             /* X is B' */
  int64_t tile_n, tiles_n; /* images of a tile, tiles */
  int64_t tile_m, tiles_m; /* output channels of a tile, tiles */
} ox_conv_few;

struct ox_conv_plan {
  ox_conv_geom g;
  const ox_conv_variant *v;
  ox_act act; /* after bias and residual */
  ox_conv_mode mode;
  bool pointwise;               /* B is the input itself */
  int64_t k, pixels, in_pixels; /* input channels x taps of a group; pixels of an output and of an input plane */
  union {
    ox_conv_planes planes;
    ox_conv_pixels product;
    ox_conv_few few;
  };
  /* results */
  uint32_t n_stages;
  int64_t n_tiles[2];
  size_t scratch_bytes, shared_bytes, table_bytes;
};

struct ox_conv_args {
  const float *x, *w, *bias, *z; /* bias and z may be NULL */
  float *y;
  void *shared;
  float *sums; /* in blocks: [planes][ox_bconv_form.n_sums][16] that add up to those of the plane's outputs, or NULL */
  const float *slope; /* in blocks: of each channel below 0, after bias and residual and in place of an activation */
  /* Reads elements [first, first + n) of the original W; NULL: not available. */
  void (*filters)(const void *ctx, int64_t first, int64_t n, float *to);
  const void *filters_ctx;
};

/* Does OX_CONV_DEPTHWISE support this: one input channel per group and few output channels? */
static inline bool ox_conv_is_depthwise(int64_t ic, int64_t oc) { return ic == 1 && oc <= 4; }

static inline int64_t ox_conv_taps(const ox_conv_geom *g) { return g->n_taps[0] * g->n_taps[1] * g->n_taps[2]; }
/* The product of |n| extents. False: one is negative, or the product is too large for a size in bytes to be safe. */
bool ox_conv_product_ok(const int64_t *v, int n, int64_t *out);
/* Moves trailing axes of one element (1-D data as n x c x l x 1), which would make rows of one pixel, to the front. The
 * order of elements of data and weights does not change. */
void ox_conv_geom_move_unit_axes(ox_conv_geom *g);
/* Fills |p| except its tables (p->table_bytes), which ox_conv_plan_tables writes to memory of the caller.
 * The taps of |g| must outlive the plan. False: a size overflows. Depends on shapes and variant only. */
bool ox_conv_plan_init(ox_conv_plan *p, const ox_conv_geom *g, const ox_act *act, const ox_conv_variant *v);
/* A maximum over windows of each plane: g->ic and g->oc are 1, no weights, bias or residual. */
bool ox_conv_plan_max(ox_conv_plan *p, const ox_conv_geom *g, const ox_conv_variant *v);
/* The name of the plan's algorithm, for profiles. */
const char *ox_conv_form(const ox_conv_plan *p);
void ox_conv_plan_tables(ox_conv_plan *p, void *memory);
/* Tiles [begin, end) of a stage. */
void ox_conv_run(const ox_conv_plan *p, const ox_conv_args *a, uint32_t stage, int64_t begin, int64_t end,
                 void *scratch);

#endif
