/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/cumulate.h - running sums: an item for each row, or a group, whose items first sum a stretch each and
 * then start from the sum of the stretches before theirs. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/select_params.h"

/* Writes the sums for elements |begin| to |end| - 1 of the row at |from|, starting from |sum|. */
#define CUMULATE_STRETCH(p, x, y, from, begin, end, sum, type, load, store) \
  for (int i_ = (begin); i_ < (end); i_++) {                                \
    int at_ = (from) + ((p).reverse ? (p).n - 1 - i_ : i_) * (p).inner;     \
    type v_ = load(x, at_);                                                 \
    if ((p).exclusive) {                                                    \
      store(y, at_, sum);                                                   \
      sum += v_;                                                            \
    } else {                                                                \
      sum += v_;                                                            \
      store(y, at_, sum);                                                   \
    }                                                                       \
  }

#define CUMULATE_KERNELS(items, whole, of, type, load, store)                                        \
  KERNEL(items, cumulate_params) {                                                                   \
    BUFFER(const of, x, 0);                                                                          \
    BUFFER(of, y, 1);                                                                                \
    PARAMS(cumulate_params, p);                                                                      \
    FOR_ITEMS(t, 256) {                                                                              \
      int row = GROUP(0) * 256 + t;                                                                  \
      if (row < p.rows) {                                                                            \
        int from = row / p.inner * p.n * p.inner + row % p.inner;                                    \
        type sum = 0;                                                                                \
        CUMULATE_STRETCH(p, x, y, from, 0, p.n, sum, type, load, store)                              \
      }                                                                                              \
    }                                                                                                \
  }                                                                                                  \
  KERNEL(whole, cumulate_params) {                                                                   \
    BUFFER(const of, x, 0);                                                                          \
    BUFFER(of, y, 1);                                                                                \
    PARAMS(cumulate_params, p);                                                                      \
    LOCAL(type, before, [256]);                                                                      \
    int row = GROUP(0), from = row / p.inner * p.n * p.inner + row % p.inner, each = (p.n + 255) / 256; \
    FOR_ITEMS(t, 256) {                                                                              \
      type sum = 0;                                                                                  \
      for (int i = t * each; i < MIN_OF(p.n, (t + 1) * each); i++)                                   \
        sum += load(x, from + (p.reverse ? p.n - 1 - i : i) * p.inner);                              \
      before[t] = sum;                                                                               \
    }                                                                                                \
    BARRIER;                                                                                         \
    FOR_ITEMS(t, 256) {                                                                              \
      type sum = 0;                                                                                  \
      for (int i = 0; i < t; i++) sum += before[i];                                                  \
      CUMULATE_STRETCH(p, x, y, from, t * each, MIN_OF(p.n, (t + 1) * each), sum, type, load, store) \
    }                                                                                                \
  }
#define CUMULATE_LOAD(p, i) ((p)[i])
#define CUMULATE_STORE(p, i, v) ((p)[i] = (v))
CUMULATE_KERNELS(cumulate_items, cumulate_rows, REAL, float, LOAD, STORE)
CUMULATE_KERNELS(cumulate_items_int, cumulate_rows_int, int, int, CUMULATE_LOAD, CUMULATE_STORE)
CUMULATE_KERNELS(cumulate_items_long, cumulate_rows_long, dev_long, dev_long, CUMULATE_LOAD, CUMULATE_STORE)
