/*
 * Settings, counts and violations: the slots of the file "control" beside this library, which a test maps, too. Without
 * that file, the settings are the initial ones.
 */
#define _GNU_SOURCE
#include "driver.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static int64_t unshared[SLOTS] = {
#define SLOT(name, initial) [name] = initial,
#include "slots.def"
#undef SLOT
};
static const char *const names[] = {
#define SLOT(name, initial) #name,
#include "slots.def"
#undef SLOT
};
static int64_t *slots = unshared;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change;

__attribute__((constructor)) static void load(void) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&change, &attributes);
    Dl_info self;
    char path[PATH_MAX];
    if (dladdr((void *) load, &self) == 0 || strrchr(self.dli_fname, '/') == NULL) {
        return;
    }
    int directory = (int) (strrchr(self.dli_fname, '/') - self.dli_fname);
    snprintf(path, sizeof path, "%.*s/control", directory, self.dli_fname);
    if (access(path, F_OK) != 0) {
        return;
    }
    int file = open(path, O_RDWR | O_CLOEXEC);
    void *mapped = file < 0 || lseek(file, 0, SEEK_END) < (off_t) sizeof unshared
        ? MAP_FAILED
        : mmap(NULL, sizeof unshared, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) {
        fprintf(stderr, "cuda stand-in: expected a control file of %zu bytes at %s\n", sizeof unshared, path);
        abort();
    }
    close(file);
    slots = mapped;
}

int64_t get(enum slot slot) {
    return __atomic_load_n(&slots[slot], __ATOMIC_SEQ_CST);
}

void add(enum slot slot, int64_t n) {
    __atomic_add_fetch(&slots[slot], n, __ATOMIC_SEQ_CST);
}

/* Counts down; returns whether this is the one that fails. */
bool strikes(enum slot countdown) {
    int64_t left = get(countdown);
    while (left > 0) {
        if (__atomic_compare_exchange_n(&slots[countdown], &left, left - 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
            return left == 1;
        }
    }
    return false;
}

/* Counts and describes what a program may not do. Returns what the call that did it returns. */
CUresult violation(enum slot kind, CUresult result, const char *format, ...) {
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    add(violations, 1);
    add(kind, 1);
    fprintf(stderr, "cuda stand-in: %s: %s\n", names[kind], text);
    return result;
}

int64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

void lock(void) {
    pthread_mutex_lock(&mutex);
}

void unlock(void) {
    pthread_mutex_unlock(&mutex);
}

void changed(void) {
    pthread_cond_broadcast(&change);
}

/* Waits until something changed, with the lock held before and after. */
void wait_for_change(int64_t max_ns) {
    int64_t until = now_ns() + max_ns;
    struct timespec time = {until / 1000000000, until % 1000000000};
    pthread_cond_timedwait(&change, &mutex, &time);
}
