/*
 * Streams and events. A thread for each stream runs what was enqueued, in order, each piece after a delay of its own:
 * so the work of two streams mixes in any order unless one waits for the other, and what a program reads without
 * waiting is old. With the setting hold, work runs only when something depends on it.
 */
#include "driver.h"
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { STREAM_HANDLES = 0x57ea0000, EVENT_HANDLES = 0x0e7e0000, HANDLE_STEP = 16 };
enum { LEGACY = 1, PER_THREAD = 2, NON_BLOCKING = 1 };               /* streams that every context has; a stream's flag */
enum { DISABLE_TIMING = 2, INTERPROCESS = 4, EVENT_FLAGS = 0x7 };   /* an event's flags */
enum { LOOK_AGAIN_NS = 10000000, LOOK_AT_OTHER_PROCESS_NS = 500000 };

enum kind { COPY, FILL, RECORD, WAIT, WAIT_SHARED, CALL };

struct work {
    struct work *next;
    enum kind kind;
    int64_t sequence; /* counts the work of the stream from 1 */
    int64_t due_ns;
    union {
        struct copy copy;
        struct fill fill;
        struct { CUevent event; struct shared_event *shared; int64_t value; } record;
        struct { struct stream *stream; int64_t sequence; } wait;
        struct { struct shared_event *event; int64_t value; pid_t owner; } wait_shared;
        struct {
            void (*function)(void *);                       /* one of these: */
            void (*callback)(CUstream, CUresult, void *);
            void *data;
        } call;
    };
};

/* Never freed: what waits for it may be older than its end. */
struct stream {
    CUstream handle;
    int device;
    bool blocking; /* in order with the legacy stream */
    bool implicit; /* made by no program: the legacy stream, or one of a thread */
    bool destroyed;
    struct work *first, *last;
    int64_t enqueued, done; /* sequences */
    int64_t asked_for;      /* up to here, something depends on the work */
    uint64_t random;
};

struct event {
    int device;
    unsigned flags;
    struct stream *on; /* where it was recorded last, and when that is done; NULL: never */
    int64_t sequence;
    int64_t at_ns;
    struct shared_event *shared; /* what other processes see; NULL: none can */
    pid_t owner;
};

static struct stream **streams;
static int stream_count;
static struct event **events; /* NULL: destroyed */
static int event_count;
static pthread_key_t thread_streams;

static struct context *context_on(const struct stream *stream) {
    return &contexts[stream->device];
}

static uint64_t next_random(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

/* Says that something depends on the work up to here. */
static void ask(struct stream *stream, int64_t sequence) {
    if (stream->asked_for < sequence) {
        stream->asked_for = sequence;
        changed();
    }
}

static struct work *push(struct stream *stream, enum kind kind) {
    struct work *work = calloc(1, sizeof *work);
    if (work == NULL) {
        abort();
    }
    int64_t min = get(delay_min_us);
    int64_t max = get(delay_max_us);
    int64_t delay = max > min ? min + (int64_t) (next_random(&stream->random) % (uint64_t) (max - min + 1)) : min;
    work->kind = kind;
    work->sequence = ++stream->enqueued;
    work->due_ns = now_ns() + delay * 1000;
    if (stream->first == NULL) {
        stream->first = work;
    } else {
        stream->last->next = work;
    }
    stream->last = work;
    add(pending_work, 1);
    changed();
    return work;
}

static void push_wait(struct stream *stream, struct stream *other) {
    if (other != NULL && other != stream && other->done < other->enqueued) {
        struct work *work = push(stream, WAIT);
        work->wait.stream = other;
        work->wait.sequence = other->enqueued;
    }
}

/* Enqueues; the legacy stream waits for the blocking streams, and they for it. */
static struct work *enqueue(struct stream *stream, enum kind kind) {
    struct stream *legacy = context_on(stream)->legacy;
    if (stream == legacy) {
        for (int i = 0; i < stream_count; i++) {
            if (streams[i]->device == stream->device && streams[i]->blocking) {
                push_wait(stream, streams[i]);
            }
        }
    } else if (stream->blocking) {
        push_wait(stream, legacy);
    }
    return push(stream, kind);
}

int64_t enqueue_copy(struct stream *stream, struct copy copy) {
    struct work *work = enqueue(stream, COPY);
    work->copy = copy;
    return work->sequence;
}

int64_t enqueue_fill(struct stream *stream, struct fill fill) {
    struct work *work = enqueue(stream, FILL);
    work->fill = fill;
    return work->sequence;
}

/* Blocks until the work up to here is done. */
CUresult await(struct stream *stream, int64_t sequence) {
    add(blocking_calls, 1);
    ask(stream, sequence);
    while (stream->done < sequence) {
        wait_for_change(LOOK_AGAIN_NS);
    }
    return loss_of(context_on(stream));
}

static void wait_until_due(const struct stream *stream, const struct work *work) {
    int64_t left;
    while (loss_of(context_on(stream)) == SUCCESS
        && ((left = work->due_ns - now_ns()) > 0 || (get(hold) != 0 && stream->asked_for < work->sequence))) {
        wait_for_change(left > 0 && left < LOOK_AGAIN_NS ? left : LOOK_AGAIN_NS);
    }
}

static void wait_for_stream(const struct stream *stream, struct stream *other, int64_t sequence) {
    ask(other, sequence);
    while (other->done < sequence && loss_of(context_on(stream)) == SUCCESS) {
        wait_for_change(LOOK_AGAIN_NS);
    }
}

static bool is_done(const struct shared_event *event, int64_t value) {
    return __atomic_load_n(&event->done, __ATOMIC_SEQ_CST) >= value;
}

/* Waits for an event that another process may record; not after the end of that process. */
static bool wait_for_shared(const struct shared_event *event, int64_t value, pid_t owner) {
    while (!is_done(event, value)) {
        if (kill(owner, 0) != 0) {
            return false;
        }
        wait_for_change(LOOK_AT_OTHER_PROCESS_NS);
    }
    return true;
}

static struct event *event_at(CUevent handle) {
    uintptr_t index = (handle - EVENT_HANDLES) / HANDLE_STEP;
    bool known = handle >= EVENT_HANDLES && handle % HANDLE_STEP == 0 && index < (uintptr_t) event_count;
    return known ? events[index] : NULL;
}

static void record(const struct work *work) {
    struct event *event = event_at(work->record.event);
    if (event != NULL && event->sequence == work->sequence) {
        event->at_ns = now_ns();
    }
    if (work->record.shared != NULL && !is_done(work->record.shared, work->record.value)) {
        __atomic_store_n(&work->record.shared->done, work->record.value, __ATOMIC_SEQ_CST);
    }
}

/* Runs a piece of work that the lock must not be held for. */
static CUresult run_unlocked(const struct stream *stream, const struct work *work, CUresult lost) {
    CUresult result = SUCCESS;
    unlock();
    if (work->kind == CALL) {
        in_host_function = true;
        if (work->call.callback != NULL) {
            work->call.callback(stream->handle, lost, work->call.data);
        } else if (lost == SUCCESS) {
            work->call.function(work->call.data);
        }
        in_host_function = false;
    } else if (lost == SUCCESS) {
        int64_t slow_us = get(slow_copy_us);
        struct timespec slow = {slow_us / 1000000, slow_us % 1000000 * 1000};
        nanosleep(&slow, NULL);
        result = work->kind == COPY ? run_copy(&work->copy) : run_fill(&work->fill);
    }
    lock();
    return result;
}

static void do_work(struct stream *stream, struct work *work) {
    CUresult lost = loss_of(context_on(stream));
    switch (work->kind) {
        case RECORD:
            record(work);
            break;
        case WAIT:
            wait_for_stream(stream, work->wait.stream, work->wait.sequence);
            break;
        case WAIT_SHARED:
            wait_for_shared(work->wait_shared.event, work->wait_shared.value, work->wait_shared.owner);
            break;
        default: {
            CUresult result = run_unlocked(stream, work, lost);
            if (result != SUCCESS) {
                context_on(stream)->failed = result;
            }
        }
    }
}

static void *run(void *argument) {
    struct stream *stream = argument;
    lock();
    while (!stream->destroyed || stream->first != NULL) {
        struct work *work = stream->first;
        if (work == NULL) {
            wait_for_change(INT64_C(1000000000));
            continue;
        }
        wait_until_due(stream, work);
        do_work(stream, work);
        stream->first = work->next;
        stream->done = work->sequence;
        add(pending_work, -1);
        if (work->kind == COPY) {
            free(work->copy.staged);
        }
        free(work);
        changed();
    }
    unlock();
    return NULL;
}

static void *grown(void *array, int count, size_t element_bytes) {
    if ((count & (count + 1)) != 0) {
        return array; /* grows when the count is 0, 1, 3, 7 … */
    }
    void *larger = realloc(array, ((size_t) count * 2 + 1) * element_bytes);
    if (larger == NULL) {
        abort();
    }
    return larger;
}

/* Makes a stream and its thread, which takes no signal of the program. */
static struct stream *new_stream(int device, bool blocking) {
    struct stream *stream = calloc(1, sizeof *stream);
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = stream != NULL && pthread_create(&thread, NULL, run, stream) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!started) {
        free(stream);
        return NULL;
    }
    pthread_detach(thread);
    streams = grown(streams, stream_count, sizeof *streams);
    streams[stream_count] = stream;
    stream->handle = STREAM_HANDLES + (CUstream) stream_count * HANDLE_STEP;
    stream->device = device;
    stream->blocking = blocking;
    stream->random = (uint64_t) get(seed) + (uint64_t) stream_count * 7919;
    stream_count++;
    return stream;
}

static void end_stream(struct stream *stream) {
    stream->destroyed = true;
    ask(stream, stream->enqueued);
    changed();
}

static struct stream *implicit(struct stream **there, int device, bool blocking) {
    if (*there == NULL || (*there)->destroyed) {
        *there = new_stream(device, blocking);
        if (*there != NULL) {
            (*there)->implicit = true;
        }
    }
    return *there;
}

static void end_of_thread(void *argument) {
    struct stream **of_thread = argument;
    lock();
    for (int device = 0; device < MAX_DEVICES; device++) {
        if (of_thread[device] != NULL) {
            end_stream(of_thread[device]);
        }
    }
    unlock();
    free(of_thread);
}

static void make_key(void) {
    pthread_key_create(&thread_streams, end_of_thread);
}

/* The streams of the calling thread, one for each device; they end with it. */
static struct stream **streams_of_thread(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_key);
    struct stream **of_thread = pthread_getspecific(thread_streams);
    if (of_thread == NULL) {
        of_thread = calloc(MAX_DEVICES, sizeof *of_thread);
        pthread_setspecific(thread_streams, of_thread);
    }
    return of_thread;
}

/* Finds a stream of the current context. */
CUresult find_stream(const struct context *current, CUstream handle, struct stream **found) {
    int device = current->device;
    if (handle == 0 || handle == LEGACY) {
        *found = implicit(&contexts[device].legacy, device, false);
        return *found == NULL ? OUT_OF_MEMORY : SUCCESS;
    }
    if (handle == PER_THREAD) {
        *found = implicit(&streams_of_thread()[device], device, true);
        return *found == NULL ? OUT_OF_MEMORY : SUCCESS;
    }
    uintptr_t index = (handle - STREAM_HANDLES) / HANDLE_STEP;
    bool known = handle >= STREAM_HANDLES && handle % HANDLE_STEP == 0 && index < (uintptr_t) stream_count;
    if (!known || streams[index]->destroyed) {
        return violation(bad_stream, INVALID_HANDLE, "%#lx %s", (unsigned long) handle,
            known ? "was destroyed" : "is no stream");
    }
    *found = streams[index];
    return (*found)->device == current->device
        ? SUCCESS
        : violation(wrong_context, INVALID_HANDLE, "a stream of device %d while device %d is current",
            (*found)->device, current->device);
}

static CUresult find_event(CUevent handle, struct event **found) {
    *found = event_at(handle);
    return *found != NULL
        ? SUCCESS
        : violation(bad_event, INVALID_HANDLE, "%#lx was destroyed, or is no event", (unsigned long) handle);
}

/* Ends the streams of a device. Returns how many a program had left. */
int end_streams(int device) {
    int left = 0;
    for (int i = 0; i < stream_count; i++) {
        if (streams[i]->device == device && !streams[i]->destroyed) {
            left += !streams[i]->implicit;
            end_stream(streams[i]);
        }
    }
    add(live_streams, -left);
    return left;
}

static void end_event(int index) {
    free(events[index]);
    events[index] = NULL;
    add(live_events, -1);
}

/* Ends the events of a device. Returns how many there were. */
int end_events(int device) {
    int left = 0;
    for (int i = 0; i < event_count; i++) {
        if (events[i] != NULL && events[i]->device == device) {
            end_event(i);
            left++;
        }
    }
    return left;
}

API cuStreamCreate(CUstream *handle, unsigned flags) {
    struct context *current;
    CUresult result = enter(&current);
    if (result == SUCCESS) {
        struct stream *stream = strikes(fail_stream_at) ? NULL : new_stream(current->device, flags != NON_BLOCKING);
        result = stream == NULL ? OUT_OF_MEMORY : SUCCESS;
        if (stream != NULL) {
            *handle = stream->handle;
            add(live_streams, 1);
        }
    }
    return leave(result);
}

API cuStreamCreateWithPriority(CUstream *handle, unsigned flags, int priority) {
    (void) priority;
    return cuStreamCreate(handle, flags);
}

/* Work that was enqueued still runs. */
API cuStreamDestroy_v2(CUstream handle) {
    struct context *current;
    struct stream *stream = NULL;
    CUresult lost;
    CUresult result = enter_to_give_back(&current, &lost);
    if (result == SUCCESS && (result = find_stream(current, handle, &stream)) == SUCCESS) {
        if (stream->implicit) {
            result = INVALID_HANDLE;
        } else {
            end_stream(stream);
            add(live_streams, -1);
            result = lost;
        }
    }
    return leave(result);
}

API cuStreamQuery(CUstream handle) {
    struct context *current;
    struct stream *stream = NULL;
    CUresult result = enter(&current);
    if (result == SUCCESS && (result = find_stream(current, handle, &stream)) == SUCCESS) {
        ask(stream, stream->enqueued);
        result = stream->done < stream->enqueued ? NOT_READY : SUCCESS;
    }
    return leave(result);
}

API cuStreamSynchronize(CUstream handle) {
    struct context *current;
    struct stream *stream = NULL;
    CUresult result = enter(&current);
    if (result == SUCCESS && (result = find_stream(current, handle, &stream)) == SUCCESS) {
        if (stream == current->legacy) {
            result = await(stream, enqueue(stream, RECORD)->sequence); /* behind the blocking streams */
        } else {
            result = await(stream, stream->enqueued);
        }
    }
    return leave(result);
}

API cuCtxSynchronize(void) {
    struct context *current;
    CUresult result = enter(&current);
    for (int i = 0; result == SUCCESS && i < stream_count; i++) {
        if (streams[i]->device == current->device) {
            result = await(streams[i], streams[i]->enqueued);
        }
    }
    return leave(result);
}

API cuStreamGetCtx(CUstream handle, CUcontext *context) {
    struct context *current;
    struct stream *stream = NULL;
    CUresult result = enter(&current);
    if (result == SUCCESS && (result = find_stream(current, handle, &stream)) == SUCCESS) {
        *context = handle_of(context_on(stream));
    }
    return leave(result);
}

static CUresult enqueue_call(
    CUstream handle, void (*function)(void *), void (*callback)(CUstream, CUresult, void *), void *data) {
    struct context *current;
    struct stream *stream = NULL;
    CUresult result = enter(&current);
    if (result == SUCCESS && (result = find_stream(current, handle, &stream)) == SUCCESS) {
        struct work *work = enqueue(stream, CALL);
        work->call.function = function;
        work->call.callback = callback;
        work->call.data = data;
        ask(stream, work->sequence); /* this is how a program learns that the work is done */
    }
    return leave(result);
}

API cuLaunchHostFunc(CUstream handle, void (*function)(void *), void *data) {
    return enqueue_call(handle, function, NULL, data);
}

API cuStreamAddCallback(
    CUstream handle, void (*callback)(CUstream, CUresult, void *), void *data, unsigned flags) {
    return flags != 0 ? INVALID_VALUE : enqueue_call(handle, NULL, callback, data);
}

static CUevent add_event(struct event *event) {
    events = grown(events, event_count, sizeof *events);
    events[event_count] = event;
    add(live_events, 1);
    return EVENT_HANDLES + (CUevent) event_count++ * HANDLE_STEP;
}

API cuEventCreate(CUevent *handle, unsigned flags) {
    struct context *current;
    CUresult result = enter(&current);
    if (result == SUCCESS) {
        bool invalid = (flags & ~(unsigned) EVENT_FLAGS) != 0 || (flags & (DISABLE_TIMING | INTERPROCESS)) == INTERPROCESS;
        result = invalid ? INVALID_VALUE : strikes(fail_event_at) ? OUT_OF_MEMORY : SUCCESS;
    }
    if (result == SUCCESS) {
        struct event *event = calloc(1, sizeof *event);
        if (event == NULL) {
            abort();
        }
        event->device = current->device;
        event->flags = flags;
        event->shared = (flags & INTERPROCESS) != 0 ? new_shared_event(current->device) : NULL;
        event->owner = getpid();
        *handle = add_event(event);
    }
    return leave(result);
}

API cuEventDestroy_v2(CUevent handle) {
    struct context *current;
    struct event *event;
    CUresult lost;
    CUresult result = enter_to_give_back(&current, &lost);
    if (result == SUCCESS && (result = find_event(handle, &event)) == SUCCESS) {
        end_event((int) ((handle - EVENT_HANDLES) / HANDLE_STEP));
        result = lost;
    }
    return leave(result);
}

API cuEventRecord(CUevent handle, CUstream stream_handle) {
    struct context *current;
    struct stream *stream = NULL;
    struct event *event;
    CUresult result = enter(&current);
    if (result == SUCCESS && (result = find_stream(current, stream_handle, &stream)) == SUCCESS
        && (result = find_event(handle, &event)) == SUCCESS) {
        if (event->device != stream->device) {
            result = violation(wrong_context, INVALID_HANDLE, "an event of device %d recorded on a stream of device %d",
                event->device, stream->device);
        } else {
            struct work *work = enqueue(stream, RECORD);
            work->record.event = handle;
            work->record.shared = event->shared;
            event->on = stream;
            event->sequence = work->sequence;
            if (event->shared != NULL) {
                work->record.value = __atomic_add_fetch(&event->shared->recorded, 1, __ATOMIC_SEQ_CST);
            }
        }
    }
    return leave(result);
}

API cuEventRecordWithFlags(CUevent handle, CUstream stream, unsigned flags) {
    return flags != 0 ? INVALID_VALUE : cuEventRecord(handle, stream);
}

static int64_t recorded(const struct event *event) {
    return __atomic_load_n(&event->shared->recorded, __ATOMIC_SEQ_CST);
}

static bool is_complete(const struct event *event) {
    return event->shared != NULL
        ? is_done(event->shared, recorded(event))
        : event->on == NULL || event->on->done >= event->sequence;
}

API cuEventQuery(CUevent handle) {
    struct context *current;
    struct event *event;
    CUresult result = enter(&current);
    if (result == SUCCESS && (result = find_event(handle, &event)) == SUCCESS) {
        if (event->on != NULL) {
            ask(event->on, event->sequence);
        }
        result = is_complete(event) ? SUCCESS : NOT_READY;
    }
    return leave(result);
}

API cuEventSynchronize(CUevent handle) {
    struct context *current;
    struct event *event;
    CUresult result = enter(&current);
    if (result == SUCCESS && (result = find_event(handle, &event)) == SUCCESS) {
        if (event->on != NULL) {
            result = await(event->on, event->sequence);
        } else if (event->shared != NULL) {
            add(blocking_calls, 1);
            result = wait_for_shared(event->shared, recorded(event), event->owner) ? SUCCESS : UNKNOWN;
        }
    }
    return leave(result);
}

API cuStreamWaitEvent(CUstream stream_handle, CUevent handle, unsigned flags) {
    struct context *current;
    struct stream *stream = NULL;
    struct event *event;
    CUresult result = enter(&current);
    (void) flags;
    if (result == SUCCESS && (result = find_stream(current, stream_handle, &stream)) == SUCCESS
        && (result = find_event(handle, &event)) == SUCCESS) {
        if (event->on != NULL) {
            struct work *work = enqueue(stream, WAIT);
            work->wait.stream = event->on;
            work->wait.sequence = event->sequence;
        } else if (event->shared != NULL) {
            struct work *work = enqueue(stream, WAIT_SHARED);
            work->wait_shared.event = event->shared;
            work->wait_shared.value = recorded(event);
            work->wait_shared.owner = event->owner;
        }
    }
    return leave(result);
}

API cuEventElapsedTime(float *milliseconds, CUevent start_handle, CUevent end_handle) {
    struct context *current;
    struct event *start, *end;
    CUresult result = enter(&current);
    if (result == SUCCESS && (result = find_event(start_handle, &start)) == SUCCESS
        && (result = find_event(end_handle, &end)) == SUCCESS) {
        bool untimed = ((start->flags | end->flags) & DISABLE_TIMING) != 0 || start->on == NULL || end->on == NULL;
        result = untimed || start->device != end->device ? INVALID_HANDLE
            : is_complete(start) && is_complete(end) ? SUCCESS
            : NOT_READY;
        *milliseconds = result == SUCCESS ? (float) ((double) (end->at_ns - start->at_ns) / 1e6) : 0;
    }
    return leave(result);
}

API cuIpcGetEventHandle(union ipc *ipc, CUevent handle) {
    struct context *current;
    struct event *event;
    CUresult result = enter(&current);
    if (result == SUCCESS && (result = find_event(handle, &event)) == SUCCESS) {
        result = event->shared == NULL || event->owner != getpid() ? INVALID_HANDLE : SUCCESS;
        if (result == SUCCESS) {
            write_event_handle(ipc, event->device, event->shared);
        }
    }
    return leave(result);
}

API cuIpcOpenEventHandle(CUevent *handle, union ipc ipc) {
    struct context *current;
    struct shared_event *shared;
    pid_t owner;
    CUresult result = enter(&current);
    if (result == SUCCESS && (result = open_event_handle(&ipc, &shared, &owner)) == SUCCESS) {
        struct event *event = calloc(1, sizeof *event);
        if (event == NULL) {
            abort();
        }
        *event = (struct event) {.device = current->device, .flags = DISABLE_TIMING | INTERPROCESS, .shared = shared,
            .owner = owner};
        *handle = add_event(event);
    }
    return leave(result);
}
