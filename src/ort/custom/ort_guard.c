/* SPDX-License-Identifier: Apache-2.0
 * ort/custom/ort_guard.c - see ort_guard.h. How C catches what C++ throws: the unwinder asks the personality of each
 * frame, first whether it handles the exception, then, with all frames below cleaned up, to take it. Ours says yes and
 * jumps to the guard's setjmp, as unwinding by pthread_exit ends. Names are those of the Itanium C++ ABI, sections 1
 * and 2.
 */
#define _GNU_SOURCE /* dladdr */
#include "ort/custom/ort_guard.h"

#include <setjmp.h>
#include <string.h>

#include "ort/ort_status.h"

#if defined(__ELF__) && defined(__GNUC__) && !defined(__USING_SJLJ_EXCEPTIONS__) && !defined(__arm__)
#include <dlfcn.h>
#include <unwind.h>

typedef struct guard {
  struct guard *outer;
  jmp_buf back;
  struct _Unwind_Exception *caught;
} guard;

/* The innermost of this thread: the one whose frame is asked first. */
static _Thread_local guard *innermost;

/* Named by the assembler, below. */
_Unwind_Reason_Code ort_guard_personality(int version, _Unwind_Action actions, uint64_t exception_class,
                                          struct _Unwind_Exception *exception, struct _Unwind_Context *context);

__attribute__((used, visibility("hidden"))) _Unwind_Reason_Code ort_guard_personality(
    int version, _Unwind_Action actions, uint64_t exception_class, struct _Unwind_Exception *exception,
    struct _Unwind_Context *context) {
  (void)version, (void)exception_class, (void)context;
  if (actions & _UA_FORCE_UNWIND) return _URC_CONTINUE_UNWIND; /* a thread that ends is not an error */
  if (actions & _UA_SEARCH_PHASE) return _URC_HANDLER_FOUND;
  innermost->caught = exception;
  longjmp(innermost->back, 1);
}

/* ---- what was thrown ---- */

/* std::type_info, and what classes with one public base at their beginning add. */
typedef struct type_info {
  const void *const *vtable;
  const char *name;
  const struct type_info *base;
} type_info;

/* In front of what C++ throws, up to the unwinder's header, which ends where the object begins. */
typedef struct {
  const type_info *type;
  void (*destructor)(void *);
  void (*unexpected)(void), (*terminate)(void);
  void *next;
  int handlers, switch_value;
  const void *action, *language_data, *catch_temp, *adjusted;
} cxx_header;

/* "GNUCC++\0", the first letter highest. */
static bool is_cxx(const struct _Unwind_Exception *e) { return e->exception_class == 0x474E5543432B2B00; }

/* Whether |t| is std::exception or derived from it, each class the only base of the next. */
static bool is_exception(const type_info *t) {
  while (strcmp(t->name, "St9exception") != 0) {
    const type_info *kind = t->vtable[-1];
    if (strcmp(kind->name, "N10__cxxabiv120__si_class_type_infoE") != 0) return false;
    t = t->base;
  }
  return true;
}

static OrtStatus *tell(struct _Unwind_Exception *e) {
  if (!is_cxx(e)) return ort_fail(ORT_RUNTIME_EXCEPTION, "an exception of another language");
  const type_info *type = ((const cxx_header *)(const void *)e)[-1].type;
  void *object = e + 1;
  if (!is_exception(type))
    return ort_fail(ORT_RUNTIME_EXCEPTION, "an exception of C++ type '%s'", type->name + (*type->name == '*'));
  enum { WHAT = 2 }; /* behind the two destructors */
  const char *(*what)(const void *);
  const void *const *vtable = *(const void *const *const *)object;
  memcpy(&what, &vtable[WHAT], sizeof what);
  return ort_fail(ORT_RUNTIME_EXCEPTION, "%s", what(object));
}

/* By the C++ library that threw it, which also counts exceptions under way. */
static void end(struct _Unwind_Exception *e) {
  void *(*begin_catch)(void *) = NULL;
  void (*end_catch)(void) = NULL;
  Dl_info where;
  void *cleanup;
  if (e->exception_cleanup == NULL) return;
  memcpy(&cleanup, &e->exception_cleanup, sizeof cleanup);
  void *lib = is_cxx(e) && dladdr(cleanup, &where) != 0 ? dlopen(where.dli_fname, RTLD_NOW | RTLD_NOLOAD) : NULL;
  if (lib != NULL) {
    begin_catch = (void *(*)(void *))(uintptr_t)dlsym(lib, "__cxa_begin_catch");
    end_catch = (void (*)(void))(uintptr_t)dlsym(lib, "__cxa_end_catch");
  }
  if (begin_catch != NULL && end_catch != NULL) {
    begin_catch(e);
    end_catch();
  } else {
    e->exception_cleanup(_URC_FOREIGN_EXCEPTION_CAUGHT, e);
  }
  if (lib != NULL) dlclose(lib);
}

/* ---- the frame ---- */

#ifdef __clang__
#define ONE_COPY __attribute__((noinline))
#else
#define ONE_COPY __attribute__((noinline, noclone))
#endif

ONE_COPY OrtStatus *ort_guard(void (*fn)(void *ctx), void *ctx) {
  __asm__ volatile(".cfi_personality 0x1b, ort_guard_personality"); /* 0x1b: four bytes, relative to their place */
  guard g = {.outer = innermost};
  if (_setjmp(g.back) != 0) {
    innermost = g.outer;
    OrtStatus *st = tell(g.caught);
    end(g.caught);
    return st;
  }
  innermost = &g;
  fn(ctx);
  innermost = g.outer;
  return NULL;
}

#else /* exceptions end the program there, as in any C */

OrtStatus *ort_guard(void (*fn)(void *ctx), void *ctx) {
  fn(ctx);
  return NULL;
}
#endif
