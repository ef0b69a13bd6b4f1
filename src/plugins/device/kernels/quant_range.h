/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/quant_range.h - DynamicQuantizeLinear's scale and zero point for a range [low, high] that includes 0.
 * Included by kernels. */

FUNCTION float quant_scale(float low, float high) { return low == high ? 1.0f : (high - low) / 255.0f; }

FUNCTION float quant_zero(float low, float scale) {
  float zero = -low / scale;
  return zero > 0.0f ? zero < 255.0f ? RINTF(zero) : 255.0f : 0.0f;
}

/* NaN is ignored. */
#define QUANT_WIDEN(low, high, v) ((low) = MIN_OF(v, low), (high) = MAX_OF(v, high))
