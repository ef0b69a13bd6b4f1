/* SPDX-License-Identifier: Apache-2.0
 * kern/ml/panels_avx512.c - the panel body over the avx512 vocabulary. */
#include "kern/simd/f32_avx512.h"

#define PANEL_RUN ox_panel__avx512
#include "kern/ml/panels_body.h"
