/* SPDX-License-Identifier: Apache-2.0
 * kern/ml/panels_scalar.c - the panel body over the scalar vocabulary. */
#include "kern/simd/f32_scalar.h"

#define PANEL_RUN ox_panel__scalar
#include "kern/ml/panels_body.h"
