/* SPDX-License-Identifier: Apache-2.0
 * kern/simd/hide.h - OX_HIDE(p): hides from the compiler how the pointer |p| was computed. Else it keeps a register for
 * each address nearby, of which x86 has too few, instead of one with constant offsets. */
#ifndef OX_SIMD_HIDE_H
#define OX_SIMD_HIDE_H

#if defined(__GNUC__)
#define OX_HIDE(p) __asm__("" : "+r"(p))
#else
#define OX_HIDE(p) ((void)(p))
#endif

#endif
