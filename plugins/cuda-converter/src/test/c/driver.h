/*
 * A CUDA driver without a device, for tests: device memory is a file in memory, and work runs late.
 *
 * control.c  settings, counts, injected failures and violations, in the file "control" beside it
 * device.c   devices, contexts, names of errors
 * memory.c   device memory, pinned host memory, memory of other processes
 * stream.c   streams and events: one thread for each stream runs what was enqueued, late
 * copy.c     copies
 *
 * One lock guards everything but the slots of the control file; it is not held while bytes are copied, a host
 * function runs or a thread waits. Handles are numbers and are never used again, so that a stale one is noticed.
 */
#ifndef DRIVER_H
#define DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { MAX_DEVICES = 8 };

/* Results of the driver's functions, with the driver's values. */
enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    INVALID_DEVICE = 101,
    INVALID_CONTEXT = 201,
    PEER_ACCESS_UNSUPPORTED = 217,
    OPERATING_SYSTEM = 304,
    INVALID_HANDLE = 400,
    NOT_READY = 600,
    ILLEGAL_ADDRESS = 700,
    PEER_ACCESS_ALREADY_ENABLED = 704,
    PEER_ACCESS_NOT_ENABLED = 705,
    CONTEXT_IS_DESTROYED = 709,
    HOST_MEMORY_ALREADY_REGISTERED = 712,
    HOST_MEMORY_NOT_REGISTERED = 713,
    NOT_PERMITTED = 800,
    NOT_SUPPORTED = 801,
    UNKNOWN = 999
};

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef uintptr_t CUcontext, CUstream, CUevent; /* handles; pointers for the caller */

/* What the functions that are the driver's have in common. */
#define API __attribute__((visibility("default"))) CUresult

/* control.c */
enum slot {
#define SLOT(name, initial) name,
#include "slots.def"
#undef SLOT
    SLOTS
};
int64_t get(enum slot slot);
void add(enum slot slot, int64_t n);
bool strikes(enum slot countdown);
CUresult violation(enum slot kind, CUresult result, const char *format, ...) __attribute__((format(printf, 3, 4)));
int64_t now_ns(void);

/* device.c */
struct stream;
struct context {
    int device;
    int retained;
    uint64_t incarnation; /* part of the handle: counts the first retains */
    bool can_access[MAX_DEVICES];
    struct stream *legacy; /* the stream that is used where none is named; made when it is */
    CUresult failed;       /* of a copy: from then on all calls fail */
};
extern struct context contexts[MAX_DEVICES];
extern __thread bool in_host_function;
CUresult enter(struct context **current);
CUresult enter_to_give_back(struct context **current, CUresult *lost);
CUresult leave(CUresult result);
CUresult loss_of(const struct context *context);
struct context *context_of(CUcontext handle);
CUcontext handle_of(const struct context *context);

/* memory.c */
struct allocation {
    struct allocation *next;
    int device;
    CUdeviceptr base;
    size_t bytes;
    int file;        /* holds the bytes, */
    off_t offset;    /* from here on */
    int64_t serial;  /* of an allocation of this process */
    int opens;       /* of an import: how often it was opened; else 0 */
    void *shared;    /* of an import: the other process's struct shared */
    struct { pid_t pid; int file; int64_t serial; } from;
    int copies;      /* that run just now */
};
struct pinned {
    struct pinned *next;
    char *base;
    size_t bytes;
    int device;      /* of the context that pinned it */
    bool allocated;  /* by the driver, else registered */
    bool read_only;  /* for devices */
    int copies;
};
/* What other processes see of a device: behind its memory, in the same file. */
enum { SHARED_SLOTS = 4096 };
struct shared_event { int64_t recorded, done; };
struct shared {
    struct { int64_t opens, opener; } memory[SHARED_SLOTS];
    struct shared_event events[SHARED_SLOTS];
};
/* A handle for other processes: 64 bytes, which they get by a message. */
union ipc {
    char bytes[64];
    struct {
        char magic[8];
        int32_t pid, file;
        int64_t offset, size; /* of memory */
        int64_t serial;       /* of memory or of an event */
    } of;
};
CUresult open_device_memory(int device);
bool is_device_address(CUdeviceptr address);
CUresult find_memory(CUdeviceptr address, size_t bytes, struct allocation **found);
CUresult find_pinned(const void *host, size_t bytes, struct pinned **found);
bool fill_file(int file, off_t offset, unsigned char value, size_t bytes);
void end_what_is_left(int device);
struct shared_event *new_shared_event(int device);
void write_event_handle(union ipc *handle, int device, const struct shared_event *event);
CUresult open_event_handle(const union ipc *handle, struct shared_event **event, pid_t *owner);

/* stream.c */
enum { HOST = -1 };
struct place {
    int device;           /* HOST: on the host */
    CUdeviceptr address;  /* on the device */
    char *host;
    bool pinned;
};
struct copy {
    struct place to, from;
    size_t bytes;
    char *staged; /* pageable memory as it was at the call */
};
struct fill {
    CUdeviceptr address;
    size_t bytes;
    unsigned char value;
};
CUresult find_stream(const struct context *current, CUstream handle, struct stream **found);
int64_t enqueue_copy(struct stream *stream, struct copy copy);
int64_t enqueue_fill(struct stream *stream, struct fill fill);
CUresult await(struct stream *stream, int64_t sequence);
int end_streams(int device);
int end_events(int device);

/* copy.c: without the lock, on a stream's thread */
CUresult run_copy(const struct copy *copy);
CUresult run_fill(const struct fill *fill);

/* The lock, and what is notified of each change. */
void lock(void);
void unlock(void);
void changed(void);
void wait_for_change(int64_t max_ns);

#endif
