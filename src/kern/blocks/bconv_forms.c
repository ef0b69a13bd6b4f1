/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_forms.c - the forms of convolution between tensors in blocks: every file form_*.c of this folder is
 * one. */
#include "kern/blocks/bconv.h"

#define OX_BCONV_FORMS(stem) extern const ox_bconv_form ox_bconv_##stem;
#include "bconv_form_list.inc" /* the build writes OX_BCONV_FORMS(form_<name>) for each form_<name>.c */
#undef OX_BCONV_FORMS

static const ox_bconv_form *const forms[] = {
#define OX_BCONV_FORMS(stem) &ox_bconv_##stem,
#include "bconv_form_list.inc"
#undef OX_BCONV_FORMS
};

const ox_bconv_form *const *ox_bconv_forms(size_t *out_n) {
  *out_n = OX_COUNT(forms);
  return forms;
}
