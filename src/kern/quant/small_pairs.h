/* SPDX-License-Identifier: Apache-2.0
 * kern/quant/small_pairs.h - panels of weights as small pairs and extra quads (simd/i8_kept.h, docs/conv.md). */
#ifndef OX_KERN_QUANT_SMALL_PAIRS_H
#define OX_KERN_QUANT_SMALL_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* split_pairs of simd/i8_kept.h, for the quads of a panel's columns. */
typedef bool ox_split_pairs_fn(int8_t *quads, int8_t *rest);

/* Splits a panel of |n| rows of quads, |row| bytes each, in place. The rests of those with large pairs go to |rest|,
 * one behind the other, their numbers to |place|, and how many there are to *out. False: there are more than |most|,
 * and the panel is as it was. */
bool ox_split_panel(ox_split_pairs_fn *split, int8_t *panel, size_t row, size_t n, size_t most, int8_t *rest,
                    uint32_t *place, size_t *out);

#endif
