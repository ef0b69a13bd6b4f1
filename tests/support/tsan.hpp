/* SPDX-License-Identifier: Apache-2.0
 * support/tsan.hpp - for C++ tests that pass exceptions between threads: libstdc++ counts the references to one with
 * atomics in code that the thread sanitizer does not see, so the last release, in drop() of src/task/kept.c, looks
 * like a race with earlier uses. */
#ifndef OX_TESTS_TSAN_HPP
#define OX_TESTS_TSAN_HPP
#if defined(__SANITIZE_THREAD__)
extern "C" const char *__tsan_default_suppressions();
extern "C" const char *__tsan_default_suppressions() { return "race:task/kept.c\n"; }
#endif
#endif
