/* SPDX-License-Identifier: Apache-2.0
 * task/model/wait.pml - waiting threads of task.h on a pool without workers: each waiter submits a task, helps, and
 * sleeps on the epoch. The second waiter's task becomes ready only when the first one's has ended. A lost wake is an
 * invalid end state. */
#define WAITERS 3

byte queued;             /* ready tasks, any of them */
bool ready[WAITERS];     /* in the queue, not yet taken */
bool done[WAITERS];
bool waited[WAITERS];
byte n_waiting, epoch;
byte woken;              /* wakes of one sleeper not yet taken */
byte sleepers;           /* inside the futex call */

inline wake_one() { atomic { epoch++; if :: sleepers > woken -> woken++ :: else fi } }
inline wake_all() { atomic { epoch++; woken = sleepers } }

/* The kernel compares and sleeps in one step. */
inline park(seen) {
  atomic { asleep = (epoch == seen); if :: asleep -> sleepers++ :: else fi }
  if
  :: asleep -> atomic { woken > 0 -> woken--; sleepers-- }
  :: else
  fi
}

inline push(t) {
  atomic { ready[t] = true; queued++ } /* P1 */
  if
  :: n_waiting > 0 -> wake_one() /* P2 */
  :: else
  fi
}

/* Runs one ready task, if any, and ends it: its child is queued first, then its waiter told. */
inline help() {
  t = WAITERS;
  atomic {
    if
    :: ready[0] -> t = 0
    :: ready[1] -> t = 1
    :: ready[2] -> t = 2
    :: else
    fi;
    if :: t < WAITERS -> ready[t] = false; queued-- :: else fi
  }
  if
  :: t < WAITERS ->
    if
    :: t == 0 -> push(1)
    :: else
    fi;
    atomic { tell = waited[t]; done[t] = true }
    if
    :: tell -> wake_all()
    :: else
    fi
  :: else
  fi
}

proctype waiter(byte me) {
  byte t, seen;
  bool tell, asleep, was;
  if
  :: me != 1 -> push(me)
  :: else
  fi;
  do
  :: done[me] -> break
  :: else ->
    help();
    if
    :: t < WAITERS || done[me]
    :: else ->
      atomic { was = done[me]; waited[me] = true }
      if
      :: was
      :: else ->
        n_waiting++;
        seen = epoch;
        if
        :: queued == 0 && !done[me] -> park(seen)
        :: else
        fi;
        n_waiting--
      fi
    fi
  od;
  if
  :: n_waiting > 0 && queued > 0 -> wake_one() /* passes the wake on */
  :: else
  fi
}

init {
  byte i;
  atomic { for (i : 0 .. WAITERS - 1) { run waiter(i) } }
}
