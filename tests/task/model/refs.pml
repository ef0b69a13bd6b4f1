/* SPDX-License-Identifier: Apache-2.0
 * task/model/refs.pml - the counts of task.h: three threads, four operations each, over four tasks. A and B have no
 * parents; C is a barrier and D a task, both with parents A and B, submitted while those run and end. X and Y hand each
 * other references. A child starts once, after its parents are done, with their error if one failed; every task's memory
 * is freed once and touched never after; links are read while their child cannot go.
 * Must be found wrong: LOSE=1 a link is pushed by load and store; 2 wait_parents does not count the submitter; 3 the
 * run's reference goes before the children are told; 4 a link is read after its child's count; 5 release is a load and a
 * store; 6 a task is done after its children were told; 7 the error travels after the count; 8 children are read and
 * closed in two steps; 9 a task without handles is taken to have no children. */
#ifndef LOSE
#define LOSE 0
#endif
#define TASKS 4
#define A 0
#define B 1
#define C 2
#define D 3
#define BARRIER(t) ((t) == C)
#define UNITS(t) ((t) == A -> 2 : ((t) == C -> 0 : 1))
#define NONE 255
#define CLOSED 254
#define BIT(i) (1 << (i))

/* A task: */
bool live[TASKS], freed[TASKS], done[TASKS], error[TASKS];
byte refs[TASKS], wait_parents[TASKS], pending[TASKS];
byte children[TASKS] = NONE;
byte next[2 * TASKS] = NONE; /* link k of task t is 2 t + k */
byte begun;                  /* set of tasks that became ready */

byte queued[TASKS]; /* units that can be claimed; the queues themselves: queue.pml */
byte ran;           /* units, in all */
bool gave_a, gave_b; /* X's and Y's handles passed to the other */

#define touch(t) assert(live[t] && !freed[t])

inline free_task(t) { touch(t); freed[t] = true }

/* Who holds the only reference need not subtract. */
inline release(t) {
#if LOSE == 5
  atomic { touch(t); seen = refs[t] }
  atomic {
    refs[t] = seen - 1;
    if
    :: seen == 1 -> free_task(t)
    :: else
    fi;
    seen = 0
  }
#else
  if
  :: atomic { refs[t] == 1 -> free_task(t) }
  :: atomic { refs[t] != 1 -> touch(t) }
    atomic {
      touch(t);
      refs[t] = refs[t] - 1;
      if
      :: refs[t] == 0 -> free_task(t)
      :: else
      fi
    }
  fi
#endif
}

/* The last of those that |t| waits for: it is ready, once, and its parents are done. */
inline became_ready(t) {
  assert(!(begun & BIT(t)));
  begun = begun | BIT(t);
  assert(t < C || (done[A] && done[B]));
  assert(t < C || error[t] == error[A])
}

inline count_down(t) { /* LOSE == 4 looks at the link afterwards */
  touch(t);
  wait_parents[t] = wait_parents[t] - 1;
  if
  :: wait_parents[t] == 0 -> became_ready(t); found = found | BIT(t)
  :: else
  fi
}

/* All units of e have run: tells children, drops the run's reference. If nobody has a handle, and so nobody can add
 * children, and there are none, the memory goes at once. */
inline end_one() {
  if
  :: atomic { refs[e] == 1 -> touch(e) }
#if LOSE == 9
    atomic { alone = true; free_task(e) }
#else
    if
    :: atomic { children[e] == NONE -> alone = true; free_task(e) }
    :: children[e] != NONE
    fi
#endif
  :: refs[e] != 1
  fi;
  if
  :: alone -> alone = false
  :: else -> tell_all()
  fi
}

inline tell_all() {
#if LOSE == 3
  release(e);
#endif
#if LOSE != 6
  atomic { touch(e); done[e] = true }
#endif
#if LOSE == 8
  atomic { touch(e); link = children[e] }
  atomic { touch(e); children[e] = CLOSED }
#else
  atomic { touch(e); link = children[e]; children[e] = CLOSED }
#endif
  do
  :: atomic { link == NONE -> break }
  :: atomic { link != NONE -> kid = link / 2 }
#if LOSE != 4
    atomic { touch(kid); after = next[link] }
#endif
#if LOSE != 7
    atomic { touch(e); touch(kid); error[kid] = error[kid] || error[e] }
#endif
    atomic { count_down(kid) }
#if LOSE == 7
    atomic { touch(e); error[kid] = error[kid] || error[e] }
#endif
#if LOSE == 4
    atomic { touch(kid); after = next[link] }
#endif
    atomic { link = after; after = 0; kid = 0 }
  od;
#if LOSE == 6
  atomic { touch(e); done[e] = true }
#endif
#if LOSE != 3
  release(e);
#endif
  link = 0
}

/* Ends e and the barriers this sets free, then queues what became ready. */
inline end_task() {
  do
  :: true ->
    end_one();
    if
    :: found & BIT(C) -> atomic { found = found & ~BIT(C); e = C }
    :: else -> break
    fi
  od;
  if
  :: found & BIT(D) -> queued[D] = 1
  :: else
  fi;
  atomic { found = 0; e = 0 }
}

/* Runs one claimed unit of e; A's may fail. */
inline run_unit() {
  if
  :: e == A -> atomic { touch(e); error[e] = true }
  :: true
  fi;
  atomic { touch(e); pending[e] = pending[e] - 1; last = (pending[e] == 0) }
  if
  :: last -> last = false; end_task()
  :: else -> e = 0
  fi
}

#define READY (queued[A] > 0 || queued[B] > 0 || queued[D] > 0)
inline pick() {
  if
  :: queued[A] > 0 -> e = A
  :: queued[B] > 0 -> e = B
  :: queued[D] > 0 -> e = D
  fi;
  touch(e);
  queued[e] = queued[e] - 1;
  ran++
}
inline hang(t, parent, k) {
  atomic { touch(parent); head = children[parent] }
  do
  :: atomic { head == CLOSED -> ended++; error[t] = error[t] || error[parent]; head = 0; break }
  :: else ->
    next[2 * t + k] = head;
#if LOSE == 1
    atomic { touch(parent); head = 0; children[parent] = 2 * t + k; break }
#else
    if
    :: atomic { children[parent] == head -> touch(parent); head = 0; children[parent] = 2 * t + k; break }
    :: atomic { children[parent] != head -> touch(parent); head = children[parent] }
    fi
#endif
  od
}

/* Nobody else knows the task until its first link hangs. */
inline submit(t, handles) {
  atomic {
    live[t] = true;
    refs[t] = 1 + handles;
    pending[t] = UNITS(t);
    wait_parents[t] = (t < C -> 0 : 2);
#if LOSE != 2
    wait_parents[t] = wait_parents[t] + 1
#endif
  }
  if
  :: t < C
  :: else -> hang(t, A, 0); hang(t, B, 1)
  fi;
#if LOSE == 2
  atomic {
    wait_parents[t] = wait_parents[t] - ended;
#else
  atomic {
    wait_parents[t] = wait_parents[t] - ended - 1;
#endif
    ended = 0;
    if
    :: wait_parents[t] == 0 -> became_ready(t); e = t; last = true
    :: else
    fi
  }
  if
  :: last && BARRIER(t) -> last = false; end_task()
  :: last && !BARRIER(t) -> last = false; atomic { queued[t] = UNITS(t); e = 0 }
  :: else
  fi
}

proctype x() {
  byte e, found, link, after, kid, head, ended, seen;
  bool last, alone;
  submit(A, 1);
  atomic { touch(A); refs[A] = refs[A] + 1 } /* retain, for Y */
  gave_a = true;
  gave_b;
  submit(C, 1);
  release(A);
  do /* wait: helps meanwhile */
  :: atomic { done[C] -> touch(C); break }
  :: atomic { !done[C] && READY -> pick() } run_unit()
  od;
  release(C);
  release(B)
}

proctype y() {
  byte e, found, link, after, kid, head, ended, seen;
  bool last, alone;
  submit(B, 1);
  atomic { touch(B); refs[B] = refs[B] + 1 } /* retain, for X */
  gave_b = true;
  gave_a;
  submit(D, 0);
  release(A);
  release(B)
}

proctype z() {
  byte e, found, link, after, kid, seen, i;
  bool last, alone;
  do
  :: i == 4 -> break
  :: i < 4 ->
    if
    :: atomic { READY -> pick() } run_unit(); i++
    :: freed[A] && freed[B] && freed[C] && freed[D] -> break
    fi
  od
}

active proctype monitor() {
end_quiet:
  timeout;
  assert(ran == 4 && begun == 15);
  assert(freed[A] && freed[B] && freed[C] && freed[D])
}

init { atomic { run x(); run y(); run z() } }
