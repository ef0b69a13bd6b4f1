/* SPDX-License-Identifier: Apache-2.0
 * support/can_fork.h - whether a forked child may make threads. */
#ifndef OX_TESTS_CAN_FORK_H
#define OX_TESTS_CAN_FORK_H

#if defined(__SANITIZE_THREAD__)
#define CAN_FORK 0 /* the sanitizer allows no threads in the child */
#elif defined(__has_feature)
#define CAN_FORK (!__has_feature(thread_sanitizer))
#else
#define CAN_FORK 1
#endif

#endif
