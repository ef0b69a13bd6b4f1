/* SPDX-License-Identifier: Apache-2.0
 * kern/ml/panels_neon.c - the panel body over the neon vocabulary. */
#include "kern/simd/f32_neon.h"

#define PANEL_RUN ox_panel__neon
#include "kern/ml/panels_body.h"
