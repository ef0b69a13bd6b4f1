/* SPDX-License-Identifier: Apache-2.0
 * kern/ml/panels_avx2.c - the panel body over the avx2 vocabulary. */
#include "kern/simd/f32_avx2.h"

#define PANEL_RUN ox_panel__avx2
#include "kern/ml/panels_body.h"
