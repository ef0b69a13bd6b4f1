/* SPDX-License-Identifier: Apache-2.0
 * task/model/graph.pml - prepared graphs (task_graph.h): an owner that runs a graph of eight nodes twice in the same slot,
 * and two helpers that join while some lane offers nodes. A chain is a set here: its links are its holder's alone. Every
 * node runs once in each run, after its parents; counters are back for the next run; nobody touches a run that is over;
 * an owner that sleeps is woken.
 * Must be found wrong: LOSE=1 a chain is taken by load and store; 2 a helper reads the run before it pins it; 3 the
 * owner counts helpers before it closes the slot; 4 it looks before it says that it sleeps; 5 who ends the last node
 * does not wake it; 6 a parent is counted by load and store; 7 a helper reports after it has unpinned the run.
 * (That who offers nodes wakes the owner only serves speed.) */
#ifndef LOSE
#define LOSE 0
#endif
#define RUNS 2
#define NODES 8
#define ALL 255
#define BIT(i) (1 << (i))
/* 0 and 1 are roots; 2 and 3 follow 0; 4 both; 5 follows 1; 6 follows 2 and 3; 7 follows 4, 5 and 6. */
#define ROOTS 3
#define PARENTS(n) ((n) < 2 -> 0 : ((n) == 7 -> 3 : ((n) == 4 || (n) == 6 -> 2 : 1)))
#define CHILDREN(n) ((n) == 0 -> 28 : ((n) == 1 -> 48 : ((n) < 4 -> 64 : ((n) < 7 -> 128 : 0))))
#define PARENT_SET(n) \
  ((n) < 2 -> 0 : ((n) < 4 -> 1 : ((n) == 4 -> 3 : ((n) == 5 -> 2 : ((n) == 6 -> 12 : 112)))))

byte lane[3];     /* offers */
byte waits[NODES];
byte left;        /* nodes of this run that have not ended */
byte slot_run;    /* 0: closed */
byte helpers;
bool closing;     /* OX_PARK_WAITING, in the same word */
bool owner_naps;  /* on that word */
bool parked;      /* the owner's other word */
byte live;        /* the run that is on the owner's stack */
byte ran, ended;  /* in this run */
bool over;

#define OFFERS (lane[0] > 0 || lane[1] > 0 || lane[2] > 0)
#define touch() assert(live == mine)

inline wake_owner() {
  if
  :: atomic { parked -> touch(); parked = false }
  :: atomic { !parked -> touch() }
  fi
}

/* Half of a set: its lowest members. */
inline split() {
  give = 0;
  n = 0;
  do
  :: stack & BIT(n) ->
    give = give | BIT(n);
    stack = stack & ~BIT(n);
    count--;
    gave++;
    if
    :: gave >= count -> break
    :: else
    fi
  :: !(stack & BIT(n)) -> n++
  od;
  gave = 0;
  n = 0
}

inline take(v) {
#if LOSE == 1
  atomic { lane[v] > 0 -> stack = lane[v] }
  atomic { lane[v] = 0; counted() }
#else
  atomic { lane[v] > 0 -> stack = lane[v]; lane[v] = 0; counted() }
#endif
}
inline counted() {
  n = 0;
  do
  :: n == NODES -> break
  :: n < NODES && (stack & BIT(n)) -> count++; n++
  :: n < NODES && !(stack & BIT(n)) -> n++
  od;
  n = 0
}

/* Runs the nodes of our stack, offering half of them while our lane is empty. */
inline run_stack() {
  do
  :: count == 0 -> break
  :: count > 0 ->
    if
    :: atomic { count > 1 && lane[me] == 0 -> split() }
      atomic { assert(lane[me] == 0); lane[me] = give; give = 0 } /* P1 */
      if
      :: me > 0 -> wake_owner()
      :: else
      fi
    :: atomic { !(count > 1 && lane[me] == 0) }
    fi;
    atomic { /* the newest node */
      touch();
      n = NODES - 1;
      do
      :: stack & BIT(n) -> break
      :: !(stack & BIT(n)) -> n--
      od;
      stack = stack & ~BIT(n);
      count--;
      assert(!(ran & BIT(n)));
      assert((ended & PARENT_SET(n)) == PARENT_SET(n));
      ran = ran | BIT(n);
      kids = CHILDREN(n)
    }
    atomic { touch(); ended = ended | BIT(n); n = 0; next_kid() }
    do
    :: kids == 0 -> break
    :: atomic { kids > 0 && waits[n] == 1 -> touch(); last = true } /* the others have counted */
      came()
#if LOSE == 6
    :: atomic { kids > 0 && waits[n] != 1 -> give = waits[n] }
      atomic { give--; waits[n] = give; last = (give == 0); give = 0 }
#else
    :: kids > 0 && waits[n] != 1 -> atomic { touch(); waits[n] = waits[n] - 1; last = (waits[n] == 0) }
#endif
      came()
    od;
    atomic { n = 0; done++ }
  od
}
inline next_kid() {
  do
  :: kids == 0 || (kids & BIT(n)) -> break
  :: kids > 0 && !(kids & BIT(n)) -> n++
  od
}
inline came() {
  if
  :: last -> atomic {
      touch();
      waits[n] = PARENTS(n); /* for the next run */
      stack = stack | BIT(n);
      count++;
      last = false;
      kids = kids & ~BIT(n);
      next_kid()
    }
  :: else -> atomic { kids = kids & ~BIT(n); next_kid() }
  fi
}

/* all: nothing is left. */
inline report() {
  atomic { touch(); left = left - done; done = 0; all = (left == 0) }
#if LOSE != 5
  if
  :: all && me > 0 -> wake_owner()
  :: else
  fi
#endif
}

proctype helper(byte me) {
  byte mine, stack, count, n, give, gave, kids, done;
  bool last, all;
  do
  :: over -> break
  :: slot_run > 0 && OFFERS ->
#if LOSE == 2
    mine = slot_run;
    helpers++;
#else
    helpers++;
    mine = slot_run;
#endif
    if
    :: mine > 0 ->
      do
      :: take(me); run_stack()
      :: take(0); run_stack()
      :: take(3 - me); run_stack()
#if LOSE == 7
      :: lane[me] == 0 -> break
#else
      :: done > 0 && lane[me] == 0 -> report(); if :: all -> break :: else fi
      :: done == 0 && lane[me] == 0 -> break
#endif
      od;
      all = false
    :: else
    fi;
    atomic { helpers--; last = (closing && helpers == 0) }
    if
    :: last -> atomic { last = false; owner_naps = false }
    :: else
    fi;
#if LOSE == 7
    if
    :: done > 0 -> report()
    :: else
    fi;
    all = false;
#endif
    mine = 0
  od
}

inline sleep_until_offer() {
#if LOSE == 4
  if
  :: left == 0 || OFFERS
  :: else -> parked = true; !parked
  fi
#else
  parked = true;
  if
  :: left == 0
  :: else ->
    n = 0;
    do
    :: atomic { n < 3 && lane[n] > 0 -> n = 0; break }
    :: atomic { n < 2 && lane[n] == 0 -> n++ }
    :: atomic { n == 2 && lane[n] == 0 -> n = 0 } !parked; break
    od
  fi;
  parked = false
#endif
}

inline dismiss_helpers() {
#if LOSE == 3
  helpers == 0;
  slot_run = 0;
#else
  slot_run = 0;
  do
  :: atomic { helpers == 0 -> break }
  :: atomic { helpers > 0 -> closing = true; give = helpers }
    atomic { owner_naps = (helpers == give && closing); give = 0 } /* the kernel's compare */
    !owner_naps
  od;
  closing = false
#endif
}

active proctype owner() {
  byte me, mine = 1, stack, count, n, give, gave, kids, done; /* me: 0 */
  bool last, all;
  atomic {
    for (n : 0 .. NODES - 1) { waits[n] = PARENTS(n) }
    n = 0;
    run helper(1);
    run helper(2)
  }
  do
  :: mine > RUNS -> break
  :: else ->
    atomic { live = mine; left = NODES; ran = 0; ended = 0; stack = ROOTS; count = 2 }
    slot_run = mine;
    do
    :: count > 0 -> run_stack()
    :: count == 0 && done == 0 && left == 0 -> break
    :: count == 0 && done > 0 && !OFFERS -> report(); all = false
    :: atomic { count == 0 && lane[0] > 0 -> stack = lane[0]; lane[0] = 0; counted() }
    :: atomic { count == 0 && lane[1] > 0 -> stack = lane[1]; lane[1] = 0; counted() }
    :: atomic { count == 0 && lane[2] > 0 -> stack = lane[2]; lane[2] = 0; counted() }
    :: count == 0 && done == 0 && left > 0 -> sleep_until_offer()
    od;
    dismiss_helpers();
    atomic {
      assert(ran == ALL && ended == ALL && !OFFERS);
      for (n : 0 .. NODES - 1) { assert(waits[n] == PARENTS(n)) }
      n = 0;
      live = 0;
      mine++
    }
  od;
  over = true
}
