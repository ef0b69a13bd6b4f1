/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_weights.c - see xp_weights.h. */
#include "xp_weights.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "xp_digest.h"

/* ---- making them ---- */

#define PADS(w) (w)->top, (w)->right, (w)->bottom, (w)->left
#define WINDOW(w) (w)->size[0], (w)->size[1], (w)->stride[0], (w)->stride[1], (w)->dilation[0], (w)->dilation[1]
#define GROUPS(r) (r)->groups, (r)->channels_in, (r)->channels_out, in, out
#define QUANT_OUT(r, type) (type)(r)->y_zero, (r)->y_scale, (type)(r)->q_lo, (type)(r)->q_hi, (r)->flags

static enum xnn_status make_conv(const xp_recipe *r, size_t in, size_t out, xnn_operator_t *op) {
  const xp_window *w = &r->window;
  switch (r->arithmetic) {
    case XP_AS_S8:
      return xnn_create_convolution2d_nhwc_qs8(PADS(w), WINDOW(w), GROUPS(r), (int8_t)r->x_zero, r->x_scale, r->w_scale,
                                               r->kernel, r->bias, QUANT_OUT(r, int8_t), op);
    case XP_AS_S8_CHANNELS:
      return xnn_create_convolution2d_nhwc_qc8(PADS(w), WINDOW(w), GROUPS(r), (int8_t)r->x_zero, r->x_scale,
                                               r->w_scales, r->kernel, r->bias, QUANT_OUT(r, int8_t), op);
    case XP_AS_U8:
      return xnn_create_convolution2d_nhwc_qu8(PADS(w), WINDOW(w), GROUPS(r), (uint8_t)r->x_zero, r->x_scale,
                                               (uint8_t)r->w_zero, r->w_scale, r->kernel, r->bias,
                                               QUANT_OUT(r, uint8_t), op);
    default:
      return xnn_create_convolution2d_nhwc_f32(PADS(w), WINDOW(w), GROUPS(r), r->kernel, r->bias, r->lo, r->hi,
                                               r->flags, op);
  }
}

static enum xnn_status make_deconv(const xp_recipe *r, size_t in, size_t out, xnn_operator_t *op) {
  const xp_window *w = &r->window;
  switch (r->arithmetic) {
    case XP_AS_S8:
      return xnn_create_deconvolution2d_nhwc_qs8(PADS(w), WINDOW(w), GROUPS(r), (int8_t)r->x_zero, r->x_scale,
                                                 r->w_scale, r->kernel, r->bias, QUANT_OUT(r, int8_t), op);
    case XP_AS_S8_CHANNELS:
      return xnn_status_unsupported_parameter;
    case XP_AS_U8:
      return xnn_create_deconvolution2d_nhwc_qu8(PADS(w), WINDOW(w), GROUPS(r), (uint8_t)r->x_zero, r->x_scale,
                                                 (uint8_t)r->w_zero, r->w_scale, r->kernel, r->bias,
                                                 QUANT_OUT(r, uint8_t), op);
    default:
      return xnn_create_deconvolution2d_nhwc_f32(PADS(w), WINDOW(w), GROUPS(r), r->kernel, r->bias, r->lo, r->hi,
                                                 r->flags, op);
  }
}

static enum xnn_status make_linear(const xp_recipe *r, size_t in, size_t out, xnn_operator_t *op) {
  switch (r->arithmetic) {
    case XP_AS_S8:
      return xnn_create_fully_connected_nc_qs8(in, out, in, out, (int8_t)r->x_zero, r->x_scale, r->w_scale, r->kernel,
                                               r->bias, QUANT_OUT(r, int8_t), op);
    case XP_AS_S8_CHANNELS:
      return xnn_status_unsupported_parameter;
    case XP_AS_U8:
      return xnn_create_fully_connected_nc_qu8(in, out, in, out, (uint8_t)r->x_zero, r->x_scale, (uint8_t)r->w_zero,
                                               r->w_scale, r->kernel, r->bias, QUANT_OUT(r, uint8_t), op);
    default:
      return xnn_create_fully_connected_nc_f32(in, out, in, out, r->kernel, r->bias, r->lo, r->hi, r->flags, op);
  }
}

static enum xnn_status make(const xp_recipe *r, xnn_operator_t *op) {
  size_t in = (size_t)r->groups * r->channels_in, out = (size_t)r->groups * r->channels_out;
  switch (r->op) {
    case XP_CONV:
      return make_conv(r, in, out, op);
    case XP_DECONV:
      return make_deconv(r, in, out, op);
    default:
      return make_linear(r, in, out, op);
  }
}

/* ---- sharing them ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static xp_shared *all;
static uint64_t key[2];
static bool has_key;

static void get_key(uint64_t out[2]) {
  pthread_mutex_lock(&lock);
  /* Without random numbers an address has to do: the digest is still of 128 bits. */
  if (!has_key && getrandom(key, sizeof key, GRND_NONBLOCK) != (ssize_t)sizeof key) key[0] = (uintptr_t)out;
  has_key = true;
  memcpy(out, key, sizeof key);
  pthread_mutex_unlock(&lock);
}

static void digest(const xp_recipe *r, uint64_t out[2]) {
  uint64_t k[2];
  size_t channels = (size_t)r->groups * r->channels_out;
  xp_digest d;
  get_key(k);
  xp_digest_begin(&d, k);
  xp_digest_add(&d, r, offsetof(xp_recipe, kernel));
  xp_digest_add(&d, r->kernel, r->kernel_bytes);
  if (r->bias) xp_digest_add(&d, r->bias, channels * 4);
  if (r->w_scales) xp_digest_add(&d, r->w_scales, channels * sizeof(float));
  xp_digest_end(&d, out);
}

/* Lock held. */
static xp_shared *find(const uint64_t d[2]) {
  xp_shared *s = all;
  while (s && (s->digest[0] != d[0] || s->digest[1] != d[1])) s = s->next;
  if (s) s->refs++;
  return s;
}

static void destroy(xp_shared *s) {
  xnn_delete_operator(s->op);
  pthread_mutex_destroy(&s->busy);
  free(s);
}

enum xnn_status xp_shared_get(const xp_recipe *r, xp_shared **out) {
  uint64_t d[2];
  digest(r, d);
  pthread_mutex_lock(&lock);
  *out = find(d);
  pthread_mutex_unlock(&lock);
  if (*out) return xnn_status_success;
  xp_shared *s = calloc(1, sizeof *s);
  if (!s) return xnn_status_out_of_memory;
  enum xnn_status st = make(r, &s->op); /* without the lock: packing takes long */
  if (st != xnn_status_success) return free(s), st;
  pthread_mutex_init(&s->busy, NULL);
  memcpy(s->digest, d, sizeof d);
  s->refs = 1;
  pthread_mutex_lock(&lock);
  *out = find(d); /* another thread may have been faster */
  if (!*out) s->next = all, all = *out = s;
  pthread_mutex_unlock(&lock);
  if (*out != s) destroy(s);
  return xnn_status_success;
}

void xp_shared_release(xp_shared *s) {
  if (!s) return;
  pthread_mutex_lock(&lock);
  bool last = --s->refs == 0;
  if (last)
    for (xp_shared **at = &all; *at; at = &(*at)->next)
      if (*at == s) {
        *at = s->next;
        break;
      }
  pthread_mutex_unlock(&lock);
  if (last) destroy(s);
}
