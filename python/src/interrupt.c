/* SPDX-License-Identifier: Apache-2.0
 * interrupt.c - Ctrl-C cancels a run of the main thread. Python's own handler only notes the signal, and the main
 * thread would look at the note when the run is over. So a thread of ours watches runs: of one that takes longer than a
 * tick it puts a handler before Python's, and when that is called it sets the terminate flag of the run's options. A
 * short run pays for two stores and two loads. */
#include "px.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <time.h>

enum { TICK_MS = 25, IDLE_TICKS = 40 };

static unsigned long main_thread; /* 0: not known, nothing is watched */
static bool started;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static atomic_ulong run_number; /* odd: the main thread runs */
static atomic_bool sleeping;    /* the watcher waits for |wake| */
static atomic_bool engaged;     /* our handler is there, for the run of now; written under |lock| */
static OrtRunOptions *watched;  /* options of that run */
static volatile sig_atomic_t interrupted;
static bool terminated; /* we set the flag of |watched|; under |lock| */
static struct sigaction before;
static OrtRunOptions *own_options; /* for runs without options */

static void on_signal(int number, siginfo_t *info, void *context) {
  interrupted = 1;
  if (before.sa_flags & SA_SIGINFO)
    before.sa_sigaction(number, info, context);
  else
    before.sa_handler(number); /* is a function: see engage() */
}

/* Both under |lock|. */
static void disengage(void) {
  struct sigaction now;
  if (sigaction(SIGINT, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_signal)
    sigaction(SIGINT, &before, NULL);
  atomic_store(&engaged, false);
}

/* Either the main thread sees |engaged| when its run ends, or we see here that it has ended: both sides store, then
 * load, sequentially consistent. */
static void engage(unsigned long seen) {
  if (sigaction(SIGINT, NULL, &before) != 0) return;
  if (!(before.sa_flags & SA_SIGINFO) && (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN)) return;
  atomic_store(&engaged, true);
  if (atomic_load(&run_number) != seen) {
    atomic_store(&engaged, false);
    return;
  }
  struct sigaction ours = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | (before.sa_flags & SA_ONSTACK)};
  ours.sa_mask = before.sa_mask;
  interrupted = 0;
  terminated = false;
  if (sigaction(SIGINT, &ours, NULL) != 0) atomic_store(&engaged, false);
}

static void tick(void) {
  const struct timespec time = {0, TICK_MS * 1000000L};
  nanosleep(&time, NULL);
}

/* Watches the run |seen|, which has lasted for a tick, to its end. */
static void watch(unsigned long seen) {
  pthread_mutex_lock(&lock);
  if (atomic_load(&run_number) == seen) engage(seen);
  while (atomic_load(&engaged) && atomic_load(&run_number) == seen) {
    if (interrupted && !terminated) {
      terminated = true;
      OrtStatus *status = ort->RunOptionsSetTerminate(watched);
      if (status) ort->ReleaseStatus(status);
    }
    pthread_mutex_unlock(&lock);
    tick();
    pthread_mutex_lock(&lock);
  }
  pthread_mutex_unlock(&lock);
}

static void *watcher(void *unused) {
  prctl(PR_SET_NAME, "onyx-ctrl-c"); /* so that whoever counts threads that compute can tell */
  for (int idle = 0;;) {
    unsigned long seen = atomic_load(&run_number);
    tick();
    unsigned long now = atomic_load(&run_number);
    if (now == seen && now % 2) watch(now);
    idle = now == seen && now % 2 == 0 ? idle + 1 : 0;
    if (idle < IDLE_TICKS) continue;
    pthread_mutex_lock(&lock);
    atomic_store(&sleeping, true); /* then look again: pairs with begin() */
    while (atomic_load(&sleeping) && atomic_load(&run_number) == now) pthread_cond_wait(&wake, &lock);
    atomic_store(&sleeping, false);
    pthread_mutex_unlock(&lock);
    idle = 0;
  }
  return NULL;
}

/* No signal is to be handled by the watcher: Python wants to see them in its own threads. */
static void start(void) {
  pthread_attr_t attributes;
  pthread_t thread;
  sigset_t all, old;
  started = true; /* also if it fails: then nothing is watched */
  if (pthread_attr_init(&attributes) != 0) return;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, 128 * 1024);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  pthread_create(&thread, &attributes, watcher, NULL);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  pthread_attr_destroy(&attributes);
}

static void begin(OrtRunOptions *options) {
  if (!started) start();
  watched = options;
  atomic_fetch_add(&run_number, 1);
  if (atomic_load(&sleeping)) {
    pthread_mutex_lock(&lock);
    atomic_store(&sleeping, false);
    pthread_cond_signal(&wake);
    pthread_mutex_unlock(&lock);
  }
}

/* True if a signal came; *stopped: and the run's flag was set for it. */
static bool end(bool *stopped) {
  bool came = false;
  *stopped = false;
  atomic_fetch_add(&run_number, 1);
  if (!atomic_load(&engaged)) return false;
  pthread_mutex_lock(&lock);
  if (atomic_load(&engaged)) {
    disengage();
    came = interrupted, *stopped = terminated;
    interrupted = 0;
  }
  pthread_mutex_unlock(&lock);
  return came;
}

static bool is_watched(void) {
  return main_thread && PyThread_get_thread_ident() == main_thread && atomic_load(&run_number) % 2 == 0;
}

static OrtStatus *plain(px_wait wait, void *ctx, const OrtRunOptions *options) {
  OrtStatus *status;
  Py_BEGIN_ALLOW_THREADS
  status = wait(ctx, options);
  Py_END_ALLOW_THREADS
  return status;
}

OrtStatus *px_interruptible(px_wait wait, void *ctx, OrtRunOptions *options, bool *raised) {
  OrtStatus *status;
  *raised = false;
  if (!is_watched()) return plain(wait, ctx, options);
  if (!options && !own_options && (status = ort->CreateRunOptions(&own_options))) return status;
  if (!options) options = own_options;
  for (;;) {
    bool came, stopped;
    Py_BEGIN_ALLOW_THREADS
    begin(options);
    status = wait(ctx, options);
    came = end(&stopped);
    Py_END_ALLOW_THREADS
    if (!came) return status;
    OrtStatus *unset = stopped ? ort->RunOptionsUnsetTerminate(options) : NULL;
    if (unset) ort->ReleaseStatus(unset);
    if (PyErr_CheckSignals() < 0) {
      *raised = true;
      if (status) ort->ReleaseStatus(status);
      return NULL;
    }
    if (!stopped || !status) return status;
    ort->ReleaseStatus(status); /* the program's handler wants it to go on: once more */
  }
}

/* Also in a forked child, which has one thread and no watcher. */
static PyObject *set_main_thread(PyObject *module, PyObject *ident) {
  unsigned long number = PyLong_AsUnsignedLong(ident);
  if (PyErr_Occurred()) return NULL;
  pthread_mutex_init(&lock, NULL);
  pthread_cond_init(&wake, NULL);
  if (atomic_load(&engaged)) disengage();
  atomic_store(&sleeping, false);
  atomic_store(&run_number, 0);
  started = false;
  main_thread = number;
  Py_RETURN_NONE;
}

PyMethodDef px_interrupt_methods[] = {
    {"_set_main_thread", set_main_thread, METH_O, "The thread whose runs Ctrl-C cancels; again in a forked child."},
    {NULL, NULL, 0, NULL}};
