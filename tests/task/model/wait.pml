/* SPDX-License-Identifier: Apache-2.0
 * task/model/wait.pml - waiting threads of task.h: clients that submit a task and wait for it, twice each, but for
 * task 1, which is submitted and left alone. Tasks 2 and 5 have a parent of another client's. Three clients on a pool without workers; or with WORKER=1 two, on a pool whose only
 * worker has to quit at any time. The queues are one set here (queue.pml). A lost wake is an invalid end state.
 * Must be found wrong: LOSE=1 a waiter counts itself after its look; 2 the epoch is read after the look; 3 WAITED is read
 * before DONE is set; 4 a worker that quits passes its wake to nobody. */
#ifndef LOSE
#define LOSE 0
#endif
#ifndef WORKER
#define WORKER 0
#endif
#define CLIENTS (3 - WORKER)
#define TASKS (2 * CLIENTS)
#define NONE 99
#define PARENT(t) ((t) == 2 -> 1 : ((t) == 5 -> 3 : NONE))
#define CHILD(t) ((t) == 1 -> 2 : ((t) == 3 && TASKS > 5 -> 5 : NONE))

byte queued;        /* ready tasks */
bool ready[TASKS];  /* in the queue, not yet taken */
bool done[TASKS], waited[TASKS];
bool closed[TASKS]; /* children */
bool hangs[TASKS];  /* on its parent */
byte n_waiting;
bool same[3];   /* epoch */
bool sleeps[3]; /* clients in the kernel, on epoch */
bool asleep, parked, quit, gone; /* the worker */

/* The epoch is only ever compared with what one has read: so it is a flag of each client, "still what I read". */
inline raise() { atomic { same[0] = false; same[1] = false; same[2] = false } }

/* The kernel wakes any of those that sleep now. */
inline wake_one() {
  raise();
  if
  :: atomic { sleeps[0] -> sleeps[0] = false }
  :: atomic { sleeps[1] -> sleeps[1] = false }
  :: atomic { sleeps[2] -> sleeps[2] = false }
  :: else
  fi
}
inline wake_all() {
  raise();
  atomic { sleeps[0] = false; sleeps[1] = false; sleeps[2] = false }
}

/* ox_queue_wake: the worker, or else a waiter. */
inline wake() {
  if
  :: atomic { asleep -> asleep = false } parked = false
  :: else ->
    if
    :: n_waiting > 0 -> wake_one()
    :: else
    fi
  fi
}

inline push(k) {
  atomic { ready[k] = true; queued++ } /* P1 */
  wake()                               /* P2 */
}

/* Runs the ready task t and ends it: done, children, waiters. */
inline run_task() {
#if LOSE == 3
  tell = waited[t];
  done[t] = true;
#else
  atomic { tell = waited[t]; done[t] = true }
#endif
  atomic {
    closed[t] = true;
    child = (CHILD(t) != NONE && hangs[CHILD(t)]);
  }
  if
  :: tell -> tell = false; wake_all()
  :: else
  fi;
  if
  :: child -> push(CHILD(t))
  :: else
  fi;
  atomic { t = NONE; child = false }
}

inline claim() {
  atomic {
    queued > 0 ->
    t = 0;
    do
    :: ready[t] -> break
    :: else -> t++
    od;
    ready[t] = false;
    queued--
  }
}

inline submit(k) {
  child = false;
  if
  :: PARENT(k) == NONE -> child = true
  :: else ->
    atomic {
      child = closed[PARENT(k)];
      hangs[k] = !child
    }
  fi;
  if
  :: child -> child = false; push(k)
  :: else
  fi
}

inline sleep() {
  atomic { tell = done[mine]; waited[mine] = true }
  if
  :: tell -> tell = false
  :: else ->
#if LOSE != 1
    n_waiting++;
#endif
#if LOSE != 2
    same[me] = true;
#endif
    if
    :: queued > 0
    :: else ->
      if
      :: done[mine]
      :: else ->
#if LOSE == 1
        n_waiting++;
#endif
#if LOSE == 2
        same[me] = true;
#endif
        if /* the kernel compares and sleeps in one step */
        :: atomic { same[me] -> sleeps[me] = true }
          !sleeps[me]
        :: else
        fi
      fi
    fi;
    atomic { n_waiting--; same[me] = false }
  fi
}

proctype client(byte me) {
  byte t = NONE, mine = 2 * me, i;
  bool tell, child;
  do
  :: i == 2 -> break
  :: i < 2 ->
    submit(mine);
    do
    :: done[mine] || mine == 1 -> break /* task 1 is submitted and left */
    :: else ->
      if
      :: claim(); run_task()
      :: queued == 0 && done[mine]
      :: queued == 0 && !done[mine] -> sleep()
      fi
    od;
    atomic { mine++; i++ }
  od
}

proctype worker() {
  byte t = NONE;
  bool tell, child;
  do
  :: quit -> break
  :: else ->
    if
    :: claim(); run_task()
    :: queued == 0 || quit ->
      parked = true;
      asleep = true; /* W1 */
      if             /* W2 */
      :: queued > 0
      :: else ->
        if
        :: quit
        :: else -> !parked
        fi
      fi;
      asleep = false
    fi
  od;
  if
  :: queued > 0 ->
#if LOSE != 4
    wake()
#endif
  :: else
  fi;
  gone = true
}

init {
  atomic {
    run client(0);
    run client(1);
#if WORKER
    run worker()
#else
    run client(2)
#endif
  }
#if WORKER
  quit = true;
  parked = false;
  gone
#endif
}
