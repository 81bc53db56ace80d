/*
 * Copies. Pinned host memory is read or written when the copy runs. Pageable memory behaves as CUDA documents it: what
 * goes to a device is read at the call, what comes from one is there when the call returns. The kernel moves the bytes,
 * so that host memory that is gone gives a violation instead of the end of the process.
 */
#define _GNU_SOURCE
#include "driver.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE_BYTES = 1 << 20 };

static struct place on_host(const void *host) {
    return (struct place) {.device = HOST, .host = (char *) host};
}

/* On the device that has the address. */
static struct place on_device(CUdeviceptr address) {
    return (struct place) {.device = 0, .address = address};
}

static CUresult check_host(struct place *place, size_t bytes) {
    struct pinned *pinned;
    if (is_device_address((CUdeviceptr) (uintptr_t) place->host)) {
        return violation(bad_host_memory, INVALID_VALUE, "%p is an address of a device", (void *) place->host);
    }
    CUresult result = find_pinned(place->host, bytes, &pinned);
    place->pinned = pinned != NULL;
    return result;
}

/* Memory of another device than the current one needs access to it, or to be named, as by cuMemcpyPeer. */
static CUresult check_device(const struct context *current, struct place *place, size_t bytes, CUcontext named) {
    struct allocation *found;
    CUresult result = find_memory(place->address, bytes, &found);
    if (result != SUCCESS) {
        return result;
    }
    place->device = found->device;
    const struct context *owner = context_of(named);
    bool reachable = named != 0
        ? owner != NULL && owner->device == found->device
        : found->device == current->device || current->can_access[found->device];
    return reachable
        ? SUCCESS
        : violation(wrong_context, INVALID_VALUE, "memory of device %d while device %d is %s", found->device,
            owner == NULL ? current->device : owner->device, named == 0 ? "current" : "named");
}

static CUresult check(const struct context *current, struct place *place, size_t bytes, CUcontext named) {
    return place->device == HOST ? check_host(place, bytes) : check_device(current, place, bytes, named);
}

static CUresult stage(struct copy *copy) {
    copy->staged = malloc(copy->bytes);
    if (copy->staged == NULL) {
        return OUT_OF_MEMORY;
    }
    memcpy(copy->staged, copy->from.host, copy->bytes);
    return SUCCESS;
}

static void count(const struct copy *copy) {
    bool to_host = copy->to.device == HOST;
    bool from_host = copy->from.device == HOST;
    add(to_host ? copies_to_host
        : from_host ? copies_to_device
        : copy->to.device == copy->from.device ? copies_on_device
        : copies_between_devices, 1);
    add(pageable_copies, (to_host && !copy->to.pinned) || (from_host && !copy->from.pinned));
}

/* Enqueues a checked copy, and waits if the kind of copy does. */
static CUresult begin(struct stream *stream, struct copy copy, bool synchronous) {
    bool to_pageable = copy.to.device == HOST && !copy.to.pinned;
    bool from_pageable = copy.from.device == HOST && !copy.from.pinned;
    bool with_host = copy.to.device == HOST || copy.from.device == HOST;
    CUresult result = from_pageable ? stage(&copy) : SUCCESS;
    if (result != SUCCESS) {
        return result;
    }
    count(&copy);
    int64_t sequence = enqueue_copy(stream, copy);
    return to_pageable || (synchronous && with_host && !from_pageable) ? await(stream, sequence) : SUCCESS;
}

static CUresult copy_between(
    struct place to, CUcontext to_named, struct place from, CUcontext from_named, size_t bytes, CUstream handle,
    bool synchronous) {
    struct context *current;
    struct stream *stream;
    CUresult result = enter(&current);
    if (result == SUCCESS && bytes > 0) {
        result = find_stream(current, handle, &stream);
        result = result == SUCCESS ? check(current, &to, bytes, to_named) : result;
        result = result == SUCCESS ? check(current, &from, bytes, from_named) : result;
        result = result == SUCCESS && to.device == HOST && from.device == HOST ? INVALID_VALUE : result;
        result = result == SUCCESS && strikes(fail_enqueue_at) ? UNKNOWN : result;
        if (result == SUCCESS) {
            result = begin(stream, (struct copy) {to, from, bytes, NULL}, synchronous);
        }
    }
    return leave(result);
}

API cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
    return copy_between(on_device(to), 0, on_host(from), 0, bytes, 0, true);
}

API cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
    return copy_between(on_device(to), 0, on_host(from), 0, bytes, stream, false);
}

API cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
    return copy_between(on_host(to), 0, on_device(from), 0, bytes, 0, true);
}

API cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return copy_between(on_host(to), 0, on_device(from), 0, bytes, stream, false);
}

API cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return copy_between(on_device(to), 0, on_device(from), 0, bytes, 0, true);
}

API cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return copy_between(on_device(to), 0, on_device(from), 0, bytes, stream, false);
}

API cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes) {
    return copy_between(on_device(to), to_context, on_device(from), from_context, bytes, 0, true);
}

API cuMemcpyPeerAsync(
    CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes, CUstream stream) {
    return copy_between(on_device(to), to_context, on_device(from), from_context, bytes, stream, false);
}

static struct place anywhere(CUdeviceptr address) {
    return is_device_address(address) ? on_device(address) : on_host((void *) (uintptr_t) address);
}

API cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return copy_between(anywhere(to), 0, anywhere(from), 0, bytes, 0, true);
}

API cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return copy_between(anywhere(to), 0, anywhere(from), 0, bytes, stream, false);
}

API cuMemsetD8Async(CUdeviceptr address, unsigned char value, size_t bytes, CUstream handle) {
    struct context *current;
    struct stream *stream;
    struct place place = on_device(address);
    CUresult result = enter(&current);
    if (result == SUCCESS && bytes > 0 && (result = find_stream(current, handle, &stream)) == SUCCESS
        && (result = check_device(current, &place, bytes, 0)) == SUCCESS) {
        enqueue_fill(stream, (struct fill) {address, bytes, value});
    }
    return leave(result);
}

API cuMemsetD8_v2(CUdeviceptr address, unsigned char value, size_t bytes) {
    return cuMemsetD8Async(address, value, bytes, 0);
}

/* What follows runs on the thread of a stream, without the lock. */

/* Where the bytes of a copy are: in a file, or in memory. */
struct end {
    struct allocation *allocation;
    struct pinned *pinned;
    int file;
    off_t offset;
    char *host;
};

/* Finds again what the copy was enqueued with: it may be gone. Until it is released, it stays. */
static CUresult hold_end(const struct place *place, char *staged, size_t bytes, struct end *end) {
    *end = (struct end) {.host = staged != NULL ? staged : place->host};
    if (place->device != HOST) {
        CUresult result = find_memory(place->address, bytes, &end->allocation);
        if (result != SUCCESS) {
            return ILLEGAL_ADDRESS;
        }
        end->allocation->copies++;
        end->file = end->allocation->file;
        end->offset = end->allocation->offset + (off_t) (place->address - end->allocation->base);
    } else if (place->pinned) {
        if (find_pinned(place->host, bytes, &end->pinned) != SUCCESS || end->pinned == NULL) {
            return violation(not_registered, ILLEGAL_ADDRESS, "%zu bytes at %p, unregistered before the copy ran", bytes,
                (void *) place->host);
        }
        end->pinned->copies++;
    }
    return SUCCESS;
}

static void release_end(const struct end *end) {
    if (end->allocation != NULL) {
        end->allocation->copies--;
    }
    if (end->pinned != NULL) {
        end->pinned->copies--;
    }
    changed();
}

/* Moves some bytes between memory and a file. Returns how many; less than 1 when it can't. */
static ssize_t move(const struct end *to, const struct end *from, size_t done, size_t bytes) {
    if (to->allocation == NULL) {
        return pread(from->file, to->host + done, bytes, from->offset + (off_t) done);
    }
    if (from->allocation == NULL) {
        return pwrite(to->file, from->host + done, bytes, to->offset + (off_t) done);
    }
    static __thread char piece[PIECE_BYTES];
    ssize_t length = pread(from->file, piece, bytes < PIECE_BYTES ? bytes : PIECE_BYTES, from->offset + (off_t) done);
    return length < 1 ? length : pwrite(to->file, piece, (size_t) length, to->offset + (off_t) done);
}

static CUresult move_all(const struct end *to, const struct end *from, size_t bytes) {
    for (size_t done = 0; done < bytes;) {
        ssize_t moved = move(to, from, done, bytes - done);
        if (moved < 1) {
            const char *host = to->allocation == NULL ? to->host : from->host;
            return violation(bad_host_memory, ILLEGAL_ADDRESS, "%zu bytes at %p: %s", bytes, (void *) host,
                strerror(errno));
        }
        done += (size_t) moved;
    }
    return SUCCESS;
}

CUresult run_copy(const struct copy *copy) {
    struct end to = {0};
    struct end from = {0};
    lock();
    CUresult result = strikes(fail_copy_at) ? ILLEGAL_ADDRESS : SUCCESS;
    result = result == SUCCESS ? hold_end(&copy->to, NULL, copy->bytes, &to) : result;
    if (result == SUCCESS && to.pinned != NULL && to.pinned->read_only) {
        result = violation(bad_host_memory, ILLEGAL_ADDRESS, "%zu bytes to %p, pinned for reading only", copy->bytes,
            (void *) copy->to.host);
    }
    result = result == SUCCESS ? hold_end(&copy->from, copy->staged, copy->bytes, &from) : result;
    unlock();
    result = result == SUCCESS ? move_all(&to, &from, copy->bytes) : result;
    lock();
    release_end(&to);
    release_end(&from);
    unlock();
    return result;
}

CUresult run_fill(const struct fill *fill) {
    struct place place = on_device(fill->address);
    struct end end = {0};
    lock();
    CUresult result = hold_end(&place, NULL, fill->bytes, &end);
    unlock();
    if (result == SUCCESS && !fill_file(end.file, end.offset, fill->value, fill->bytes)) {
        result = ILLEGAL_ADDRESS;
    }
    lock();
    release_end(&end);
    unlock();
    return result;
}
