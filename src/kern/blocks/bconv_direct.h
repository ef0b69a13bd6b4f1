/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_direct.h - the direct form: a product of pixels and packed weights.
 *
 * An output pixel is a sum over *segments*: runs of channels that lie one behind the other in memory. For a tensor in
 * blocks a segment is one tap of one block, for an image one row of taps of one channel. Each segment has an offset
 * from the pixel's own place, so 1x1, dilated and strided convolutions, and products of matrices, are one loop.
 * Weights: [group][panel of 16 channels][k][16], k in the order of the segments: block or channel, then tap. Where the
 * last panel has 8 channels or fewer they are there twice: a vector of 16 lanes may then hold two pixels (a *halved*
 * panel). */
#ifndef OX_KERN_BLOCKS_BCONV_DIRECT_H
#define OX_KERN_BLOCKS_BCONV_DIRECT_H

#include "kern/blocks/bconv.h"

typedef struct ox_bconv_seg {
  int64_t at;   /* floats from the pixel's place */
  int64_t k;    /* channels */
  int64_t skip; /* floats of a panel's weights before its own that are not read */
} ox_bconv_seg;

/* C[pixels x panels] over some segments, for some strips of as many pixels. The pixels of a strip are two runs of equal
 * stride, the first the longer by one if their number is odd: two halves of a row, or a row each. */
typedef struct ox_bconv_mul {
  const float *w;     /* of the first panel, at the first segment's k */
  size_t w_panel;     /* floats from panel to panel */
  const float *ahead; /* weights that come next: |ahead_k| of their k are fetched for each segment */
  size_t ahead_k;
  const float *x[2];
  size_t x_step; /* floats from pixel to pixel */
  bool fetch;    /* the pixels of the next strip from beyond L2 */
  const ox_bconv_seg *segs;
  size_t n_segs;
  float *y[2];                     /* pixels one behind the other */
  size_t y_gap;                    /* floats between them; who does not say so takes 0 */
  size_t n_strips, x_move, y_move; /* floats from strip to strip, of X, of Y and Z */
  size_t y_panel;
  const float *z[2]; /* residual like y, or NULL, which may be y; read when the first sums of all are stored */
  const float *bias; /* of the first panel, or NULL; read on the first segments */
  size_t channels;   /* that bias has */
  float lo, hi;
  bool first, last; /* first: the sums begin with the bias, else with y, and get z; last: they are clamped */
} ox_bconv_mul;

/* Outputs of one block in groups within it: the inputs are spread out, so that lane l of vector j of a pixel is what
 * output l reads as the j-th channel of its group. */
typedef struct ox_bconv_grouped {
  const float *w; /* [k][16] in the order of the segments */
  const float *x[2];
  size_t x_step;
  const ox_bconv_seg *segs; /* k: vectors of 16 */
  size_t n_segs;
  float *y[2];
  const float *z[2], *bias;
  size_t channels;
  float lo, hi;
  const float *slope; /* [16] or NULL */
} ox_bconv_grouped;

enum { OX_BCONV_MOST_PANELS = 3, OX_BCONV_MOST_PIXELS = 28 };

typedef void ox_bconv_mul_fn(const ox_bconv_mul *m);

typedef struct ox_bconv_variant {
  ox_isa needs;
  const char *name;
  double macs_per_ns;                                  /* at most */
  int64_t k_block;                                     /* k whose weights stay in L1 */
  int64_t n_panels;                                    /* of most tiles of registers; the last of an odd number are */
  bool threes;                                         /* ... three together */
  int64_t n_pixels[OX_BCONV_MOST_PANELS];              /* by panels - 1, at most */
  ox_bconv_mul_fn *const (*mul)[OX_BCONV_MOST_PIXELS]; /* [panels - 1][pixels - 1] */
  int64_t n_halved[OX_BCONV_MOST_PANELS];              /* likewise where the last panel is halved; 0: not so */
  ox_bconv_mul_fn *const (*halved)[OX_BCONV_MOST_PIXELS]; /* [panels - 1][pixels - 1] */
  const struct ox_bconv_variant *few;                     /* the same for few outputs, weights as form_few.c has them */
  const struct ox_bconv_variant *apart;                   /* the same with gaps between the pixels of Y */
  const struct ox_bconv_variant *split;                   /* OX_AVX512_HALVES: what is better there; NULL: this */
  int64_t n_stem[OX_BCONV_MOST_PANELS]; /* likewise for images with three taps in a row, outputs two inputs apart, */
  ox_bconv_mul_fn *const (*stem)[OX_BCONV_MOST_PIXELS]; /* from half of n_stem on; 0: there is nothing better */
  int64_t grouped_pixels;                            /* at most */
  void (*const *grouped)(const ox_bconv_grouped *m); /* [pixels - 1] */
  /* to[p][j][l] = x[p][at[j][l]] for |ic| vectors j of each pixel */
  void (*spread)(float *to, const float *x, const int32_t *at, size_t pixels, size_t ic);
  /* to[i][l] = from[i][l] s[i] for |n| lines */
  void (*scale_lines)(float *to, const float *from, const float *s, size_t n);
  /* to[i][l] = from[i][l] s[l] */
  void (*scale_lanes)(float *to, const float *from, const float *s, size_t n);
  /* y[i] = act(y[i]) */
  void (*finish)(const ox_act *act, float *y, size_t n);
  /* y[i][l] = y[i][l] < 0 ? y[i][l] slope[l] : y[i][l] for |n| lines */
  void (*bend)(float *y, const float *slope, size_t n);
} ox_bconv_variant;

/* How many of |left| panels the next tile of registers takes. */
static inline int64_t ox_bconv_panels(const ox_bconv_variant *v, int64_t left) {
  return v->threes && left == 3 ? 3 : OX_MIN(left, v->n_panels);
}
/* A tile of registers: panels, pixels at most, products by pixels - 1. */
typedef struct ox_bconv_tile {
  int64_t np, mr;
  ox_bconv_mul_fn *const *mul;
} ox_bconv_tile;

/* The next tile of |left| panels, the last of which has |channels|. */
static inline ox_bconv_tile ox_bconv_next(const ox_bconv_variant *v, int64_t left, int64_t channels) {
  int64_t np = ox_bconv_panels(v, left);
  if (np == left && channels <= OX_BLOCK / 2 && v->n_halved[np - 1])
    return (ox_bconv_tile){np, v->n_halved[np - 1], v->halved[np - 1]};
  return (ox_bconv_tile){np, v->n_pixels[np - 1], v->mul[np - 1]};
}
/* The best variant for |have|; never NULL. */
const ox_bconv_variant *ox_bconv_select(ox_isa have);


typedef struct ox_bconv_direct_plan {
  ox_bconv_plan head;
  ox_conv_geom g; /* a pointwise one has a single long row */
  const ox_bconv_variant *v;
  int64_t unit;          /* floats of a pixel: a block, or one of an image */
  int64_t np, mr;        /* of a tile of registers */
  int64_t last_channels; /* of the last panel */
  int64_t blocks, panels, k, taps, in_pixels, pixels;
  int64_t k_blocks; /* blocks of input channels whose products are summed in registers */
  int64_t tap_min[OX_CONV_AXES], tap_max[OX_CONV_AXES];
  bool by_tap[OX_CONV_AXES];             /* taps are far apart: the scratch has a copy for each */
  bool far;                              /* tiles are cut where taps leave the image (bconv_far.h) */
  int64_t y_plane, y_at[OX_CONV_AXES];   /* of Y: floats from block to block, and from output to output of each axis */
  bool few;                              /* outputs: the products take less time than a copy */
  bool padded;                           /* stage 0 copies X with its padding: the products read that in place */
  int64_t x_dim[OX_CONV_AXES], x_pixels; /* of what is read in place */
  int64_t merged;                        /* taps of a row in one segment */
  int64_t n_whole;                       /* tiles, before one of an odd number is ... */
  int64_t halved;                        /* ... run in halves, as the first and the last; -1: none */
  bool stem;                             /* v->stem computes long rows, where it is there */
  int64_t tile_m, tile_h, tile_w;        /* panels, rows, columns of a tile */
  int64_t tiles_m, tiles_h, tiles_w;
  float lo, hi;
  bool post; /* another activation than a clamp */
  size_t segs_bytes;
} ox_bconv_direct_plan;

/* What the form says of its weights (ox_bconv_form), for others that take them as they are. */
size_t ox_bconv_direct_weight_floats(const ox_bconv_task *t);
int64_t ox_bconv_direct_weight_units(const ox_bconv_task *t);
int64_t ox_bconv_direct_unit_filter(const ox_bconv_task *t, int64_t u);
void ox_bconv_direct_pack(const ox_bconv_task *t, float *dst, const float *w, int64_t u0, int64_t u1,
                          const ox_stop *stop);
bool ox_bconv_direct_scales(const ox_bconv_task *t);
void ox_bconv_direct_scale(const ox_bconv_task *t, float *to, const float *from, const float *by, int64_t u0,
                           int64_t u1);
/* As the form's plan, with products of |v|. */
bool ox_bconv_direct_plan_on(ox_bconv_plan *p, const ox_bconv_variant *v);
/* As the form's plan, but outputs lie at |at| floats from each other along each axis and blocks |plane| floats, for a
 * task without residual and activation: they may be some pixels of a larger map. */
bool ox_bconv_direct_plan_at(ox_bconv_plan *p, const int64_t at[OX_CONV_AXES], int64_t plane);
/* Whether the tile p->halved has two halves. */
bool ox_bconv_direct_divides(const ox_bconv_direct_plan *p);
void ox_bconv_direct_run(const ox_bconv_plan *p, const ox_conv_args *a, uint32_t stage, int64_t begin, int64_t end,
                         void *scratch);

#endif
