/* SPDX-License-Identifier: Apache-2.0
 * task/system/park_wasm.c - WebAssembly with the threads feature: an instruction compares and sleeps.
 * It traps on a browser's main thread, which may not block. Emscripten's call spins there and meanwhile does what other
 * threads ask of the main thread. */
#if defined(__wasm_atomics__)
#include "task/system/park.h"

_Static_assert(sizeof(atomic_uint) == 4, "words are 32 bits");

#if defined(__EMSCRIPTEN__)
#include <emscripten/threading.h>
#include <limits.h>
#include <math.h>

void ox_park_wasm_wait(atomic_uint *word, unsigned expected) {
  (void)emscripten_futex_wait((volatile void *)word, expected, INFINITY);
}
void ox_park_wasm_wake(atomic_uint *word, int all) {
  (void)emscripten_futex_wake((volatile void *)word, all ? INT_MAX : 1);
}
#else
void ox_park_wasm_wait(atomic_uint *word, unsigned expected) {
  (void)__builtin_wasm_memory_atomic_wait32((int *)word, (int)expected, -1); /* -1: for ever */
}
void ox_park_wasm_wake(atomic_uint *word, int all) {
  (void)__builtin_wasm_memory_atomic_notify((int *)word, all ? ~0u : 1);
}
#endif
#else
typedef int ox_park_wasm_unused;
#endif
