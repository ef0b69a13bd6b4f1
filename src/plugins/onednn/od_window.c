/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_window.c - see od_window.h. */
#include "od_window.h"

const char *od_window_refuse(const od_node *n, int n_spatial) {
  int64_t x[6];
  if (n_spatial < 1 || n_spatial > 3) return REASON("1 to 3 spatial axes", "{inputs}");
  if (!od_ints(n, "strides", x, (size_t)n_spatial, 1)) return REASON("a stride for each spatial axis", "{strides}");
  for (int i = 0; i < n_spatial; i++)
    if (x[i] < 1 || x[i] > INT32_MAX) return REASON("strides of 1 or more", "{strides}");
  if (!od_ints(n, "dilations", x, (size_t)n_spatial, 1))
    return REASON("a dilation for each spatial axis", "{dilations}");
  for (int i = 0; i < n_spatial; i++)
    if (x[i] < 1 || x[i] > INT32_MAX) return REASON("dilations of 1 or more", "{dilations}");
  if (!od_ints(n, "pads", x, 2 * (size_t)n_spatial, 0)) return REASON("two pads for each spatial axis", "{pads}");
  for (int i = 0; i < 2 * n_spatial; i++)
    if (x[i] < 0 || x[i] > INT32_MAX) return REASON("pads of 0 or more", "{pads}");
  static const char *const known[] = {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};
  for (size_t i = 0; i < OD_COUNT(known); i++)
    if (od_is(n, "auto_pad", known[i], "NOTSET")) return NULL;
  return REASON("the auto_pad NOTSET, VALID, SAME_UPPER or SAME_LOWER", "{auto_pad}");
}

static void pad_to_same(const od_node *n, int i, int64_t in, int64_t range, od_window *w) {
  w->out[i] = (in + w->step[i] - 1) / w->step[i];
  int64_t all = OD_MAX((w->out[i] - 1) * w->step[i] + range - in, 0);
  w->before[i] = od_is(n, "auto_pad", "SAME_UPPER", "NOTSET") ? all / 2 : all - all / 2;
  w->after[i] = all - w->before[i];
}

bool od_window_read(const od_node *n, int n_spatial, const int64_t *in, const int64_t *size, bool is_pool,
                    bool ceil_mode, od_window *w) {
  int64_t pads[6];
  *w = (od_window){.n = n_spatial};
  od_ints(n, "strides", w->step, (size_t)n_spatial, 1);
  od_ints(n, "dilations", w->dilate, (size_t)n_spatial, 1);
  od_ints(n, "pads", pads, 2 * (size_t)n_spatial, 0);
  bool given = od_is(n, "auto_pad", "NOTSET", "NOTSET"), valid = od_is(n, "auto_pad", "VALID", "NOTSET");
  for (int i = 0; i < n_spatial; i++) {
    w->size[i] = size[i];
    w->dilate[i] = size[i] > 1 ? w->dilate[i] - 1 : 0; /* the library refuses pools of one pixel with a dilation */
    int64_t range = (size[i] - 1) * (w->dilate[i] + 1) + 1;
    if (!given && !valid) {
      pad_to_same(n, i, in[i], range, w);
    } else {
      w->before[i] = given ? pads[i] : 0, w->after[i] = given ? pads[n_spatial + i] : 0;
      int64_t room = in[i] + w->before[i] + w->after[i] - range;
      if (room < -w->step[i]) return false;
      if (ceil_mode) room += w->step[i] - 1;
      /* If the window exceeds the padded input by less than a step, a pool has one output, a convolution none. */
      w->out[i] = room < 0 && !is_pool ? 0 : room / w->step[i] + 1;
      /* With ceil_mode, a window that would start in the padding at the end does not count. */
      if (ceil_mode && (w->out[i] - 1) * w->step[i] >= in[i] + w->before[i]) w->out[i]--;
    }
    w->after[i] = (w->out[i] - 1) * w->step[i] + range - in[i] - w->before[i];
  }
  return true;
}
