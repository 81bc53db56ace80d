/*
 * Device memory, pinned host memory, and memory of other processes.
 *
 * The bytes of a device are a file in memory. Its addresses are a range of this process that nothing may access: a
 * program that uses one as an address of the host dies, as with a device. Addresses are not used again, so that
 * memory that was freed is told from memory that is there.
 */
#define _GNU_SOURCE
#include "driver.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ADDRESSES_BYTES (INT64_C(1) << 38) /* of each device */
enum { READ_ONLY = 8 }; /* a flag of registered memory */
enum { PAGE = 4096, GARBAGE_MAX_BYTES = 64 << 20 };

static struct {
    int file;
    CUdeviceptr base;
    CUdeviceptr next; /* addresses from here on were never used */
    struct shared *shared;
    int64_t serials;
    int64_t used_bytes;
    int64_t events; /* how many of the shared ones were given out */
} memories[MAX_DEVICES];

static struct allocation *allocations;
static struct pinned *pins;

CUresult open_device_memory(int device) {
    char name[32];
    snprintf(name, sizeof name, "cuda-stand-in-%d", device);
    int file = memfd_create(name, MFD_CLOEXEC);
    void *addresses = mmap(NULL, ADDRESSES_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (file < 0 || addresses == MAP_FAILED || ftruncate(file, ADDRESSES_BYTES + sizeof(struct shared)) != 0) {
        return OPERATING_SYSTEM;
    }
    void *shared = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, ADDRESSES_BYTES);
    if (shared == MAP_FAILED) {
        return OPERATING_SYSTEM;
    }
    memories[device].file = file;
    memories[device].base = memories[device].next = (CUdeviceptr) (uintptr_t) addresses;
    memories[device].shared = shared;
    return SUCCESS;
}

/* Returns the device that has the address, or -1. */
static int device_at(CUdeviceptr address) {
    for (int device = 0; device < MAX_DEVICES; device++) {
        CUdeviceptr base = memories[device].base;
        if (base != 0 && address >= base && address - base < (CUdeviceptr) ADDRESSES_BYTES) {
            return device;
        }
    }
    return -1;
}

bool is_device_address(CUdeviceptr address) {
    return device_at(address) >= 0;
}

/* Returns new addresses, each on a page of its own and with one between; 0 when none are left. */
static CUdeviceptr new_addresses(int device, size_t bytes) {
    CUdeviceptr end = memories[device].base + ADDRESSES_BYTES;
    CUdeviceptr start = memories[device].next;
    if (bytes > end - start - 2 * PAGE) {
        fprintf(stderr, "cuda stand-in: the addresses of device %d are used up\n", device);
        return 0;
    }
    memories[device].next = (start + bytes + 2 * PAGE - 1) / PAGE * PAGE;
    return start;
}

static struct allocation *new_allocation(int device, size_t bytes) {
    CUdeviceptr base = new_addresses(device, bytes);
    struct allocation *allocation = base == 0 ? NULL : calloc(1, sizeof *allocation);
    if (allocation != NULL) {
        allocation->device = device;
        allocation->base = base;
        allocation->bytes = bytes;
        allocation->next = allocations;
        allocations = allocation;
    }
    return allocation;
}

static struct allocation *allocation_at(CUdeviceptr address) {
    struct allocation *found = allocations;
    while (found != NULL && (address < found->base || address - found->base >= found->bytes)) {
        found = found->next;
    }
    return found;
}

bool fill_file(int file, off_t offset, unsigned char value, size_t bytes) {
    static __thread char piece[1 << 16];
    memset(piece, value, sizeof piece);
    for (size_t done = 0; done < bytes;) {
        size_t length = bytes - done < sizeof piece ? bytes - done : sizeof piece;
        ssize_t written = pwrite(file, piece, length, offset + (off_t) done);
        if (written <= 0) {
            return false;
        }
        done += (size_t) written;
    }
    return true;
}

/* Finds the live allocation that holds the range. */
CUresult find_memory(CUdeviceptr address, size_t bytes, struct allocation **found) {
    int device = device_at(address);
    *found = allocation_at(address);
    if (*found != NULL) {
        size_t rest = (*found)->bytes - (address - (*found)->base);
        return bytes <= rest
            ? SUCCESS
            : violation(out_of_bounds, INVALID_VALUE, "%zu bytes at %#llx, where %zu are left", bytes, address, rest);
    }
    return device >= 0 && address < memories[device].next
        ? violation(use_after_free, INVALID_VALUE, "%#llx is in no live allocation of device %d", address, device)
        : violation(out_of_bounds, INVALID_VALUE, "%#llx is no address of a device", address);
}

static void remove_allocation(struct allocation *allocation) {
    struct allocation **link = &allocations;
    while (*link != allocation) {
        link = &(*link)->next;
    }
    *link = allocation->next;
    free(allocation);
}

/* Whether another process that is still alive has the memory open. */
static bool is_imported(const struct allocation *allocation) {
    struct shared *shared = memories[allocation->device].shared;
    int slot = (int) (allocation->serial % SHARED_SLOTS);
    return __atomic_load_n(&shared->memory[slot].opens, __ATOMIC_SEQ_CST) > 0
        && kill((pid_t) shared->memory[slot].opener, 0) == 0;
}

static void free_allocation(struct allocation *allocation) {
    while (allocation->copies > 0) {
        wait_for_change(INT64_C(10000000));
    }
    if (is_imported(allocation)) {
        violation(freed_while_imported, SUCCESS, "%#llx is open in another process", allocation->base);
    }
    off_t bytes = (off_t) ((allocation->bytes + PAGE - 1) / PAGE * PAGE);
    fallocate(allocation->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, allocation->offset, bytes);
    memories[allocation->device].used_bytes -= (int64_t) allocation->bytes;
    add(live_allocations, -1);
    add(live_device_bytes, -(int64_t) allocation->bytes);
    remove_allocation(allocation);
}

API cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
    struct context *current;
    CUresult result = enter(&current);
    if (result == SUCCESS) {
        int device = current->device;
        bool room = bytes <= (size_t) get(device_bytes)
            && memories[device].used_bytes + (int64_t) bytes <= get(device_bytes);
        result = bytes == 0 ? INVALID_VALUE : strikes(fail_allocation_at) || !room ? OUT_OF_MEMORY : SUCCESS;
    }
    if (result == SUCCESS) {
        int device = current->device;
        struct allocation *made = new_allocation(device, bytes);
        result = made == NULL ? OUT_OF_MEMORY : SUCCESS;
        if (made != NULL) {
            made->file = memories[device].file;
            made->offset = (off_t) (made->base - memories[device].base);
            made->serial = memories[device].serials++;
            memories[device].used_bytes += (int64_t) bytes;
            add(live_allocations, 1);
            add(live_device_bytes, (int64_t) bytes);
            *address = made->base;
            /* memory of a device is not zero before something was written */
            fill_file(made->file, made->offset, 0xa5, bytes < GARBAGE_MAX_BYTES ? bytes : GARBAGE_MAX_BYTES);
        }
    }
    return leave(result);
}

API cuMemFree_v2(CUdeviceptr address) {
    struct context *current;
    CUresult lost;
    CUresult result = enter_to_give_back(&current, &lost);
    if (result == SUCCESS && address != 0) {
        struct allocation *allocation = allocation_at(address);
        if (allocation == NULL || allocation->base != address || allocation->opens > 0) {
            result = violation(double_free, INVALID_VALUE, "%#llx is not the start of an allocation", address);
        } else {
            free_allocation(allocation);
            result = lost;
        }
    }
    return leave(result);
}

API cuMemGetInfo_v2(size_t *unused, size_t *total) {
    struct context *current;
    CUresult result = enter(&current);
    if (result == SUCCESS) {
        *total = (size_t) get(device_bytes);
        *unused = (size_t) (get(device_bytes) - memories[current->device].used_bytes);
    }
    return leave(result);
}

API cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr address) {
    struct context *current;
    struct allocation *found;
    CUresult result = enter(&current);
    if (result == SUCCESS && (result = find_memory(address, 1, &found)) == SUCCESS) {
        if (base != NULL) {
            *base = found->base;
        }
        if (bytes != NULL) {
            *bytes = found->bytes;
        }
    }
    return leave(result);
}

/* Pinned host memory */

/* Finds the pinned range that holds the host range; NULL when the host range is pageable. */
CUresult find_pinned(const void *host, size_t bytes, struct pinned **found) {
    const char *start = host;
    for (struct pinned *pin = pins; pin != NULL; pin = pin->next) {
        if (start >= pin->base && start < pin->base + pin->bytes) {
            *found = pin;
            return bytes <= pin->bytes - (size_t) (start - pin->base)
                ? SUCCESS
                : violation(out_of_bounds, INVALID_VALUE, "%zu bytes at %p, beyond the pinned range of %zu at %p", bytes,
                    host, pin->bytes, (void *) pin->base);
        }
    }
    *found = NULL;
    return SUCCESS;
}

static CUresult pin(struct context *context, void *host, size_t bytes, bool allocated, bool read_only) {
    struct pinned *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return OUT_OF_MEMORY;
    }
    *made = (struct pinned) {pins, host, bytes, context->device, allocated, read_only, 0};
    pins = made;
    add(live_pinned_ranges, 1);
    add(live_pinned_bytes, (int64_t) bytes);
    return SUCCESS;
}

static void unpin(struct pinned *pin) {
    while (pin->copies > 0) {
        wait_for_change(INT64_C(10000000));
    }
    struct pinned **link = &pins;
    while (*link != pin) {
        link = &(*link)->next;
    }
    *link = pin->next;
    add(live_pinned_ranges, -1);
    add(live_pinned_bytes, -(int64_t) pin->bytes);
    if (pin->allocated) {
        munmap(pin->base, pin->bytes);
    }
    free(pin);
}

static bool is_mapped(char *host, size_t bytes) {
    char *page = (char *) ((uintptr_t) host / PAGE * PAGE);
    size_t pages = (size_t) (host + bytes - page + PAGE - 1) / PAGE;
    unsigned char *resident = malloc(pages);
    bool mapped = resident != NULL && mincore(page, pages * PAGE, resident) == 0;
    free(resident);
    return mapped;
}

static bool is_writable(const char *host, size_t bytes) {
    FILE *maps = fopen("/proc/self/maps", "re");
    unsigned long from, to;
    char access, line[4096 + 128];
    bool writable = maps != NULL;
    while (writable && fgets(line, sizeof line, maps) != NULL) {
        bool overlaps = sscanf(line, "%lx-%lx %*c%c", &from, &to, &access) == 3 && (char *) from < host + bytes
            && (char *) to > host;
        writable = !overlaps || access == 'w';
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return writable;
}

/* Makes the kernel write to each page of a range, which then has a copy of its own. */
static void unshare(int scratch, char *from, const char *to) {
    for (char *page = from; page < to; page += PAGE) {
        if (pwrite(scratch, page, 1, 0) == 1 && pread(scratch, page, 1, 0) != 1) {
            return; /* not writable */
        }
    }
}

/*
 * As Linux from 6.2 on does with memory that is pinned for long: pages of a private mapping of a file get a copy of
 * their own, in which what others write to the file later is missing.
 */
static void unshare_private_mappings(char *host, size_t bytes) {
    FILE *maps = fopen("/proc/self/maps", "re");
    int scratch = memfd_create("cuda-stand-in-scratch", MFD_CLOEXEC);
    unsigned long from, to, inode;
    char access, line[4096 + 128];
    while (maps != NULL && scratch >= 0 && fgets(line, sizeof line, maps) != NULL) {
        if (sscanf(line, "%lx-%lx %*3s%c %*x %*s %lu", &from, &to, &access, &inode) == 4 && access == 'p' && inode != 0) {
            char *first = (char *) from > host ? (char *) from : (char *) ((uintptr_t) host / PAGE * PAGE);
            unshare(scratch, first, (char *) to < host + bytes ? (char *) to : host + bytes);
        }
    }
    if (maps != NULL) {
        fclose(maps);
    }
    close(scratch);
}

API cuMemHostRegister_v2(void *host, size_t bytes, unsigned flags) {
    struct context *current;
    CUresult result = enter(&current);
    if (result == SUCCESS) {
        result = host == NULL || bytes == 0 || (flags & ~0xfU) != 0 || !is_mapped(host, bytes) ? INVALID_VALUE
            : (flags & READ_ONLY) != 0 && get(read_only_register) == 0 ? NOT_SUPPORTED
            : (flags & READ_ONLY) == 0 && !is_writable(host, bytes) ? INVALID_VALUE
            : strikes(fail_register_at) ? (CUresult) get(register_error)
            : SUCCESS;
    }
    char *start = host;
    for (struct pinned *pin = pins; result == SUCCESS && pin != NULL; pin = pin->next) {
        if (start < pin->base + pin->bytes && pin->base < start + bytes) {
            result = HOST_MEMORY_ALREADY_REGISTERED;
        }
    }
    if (result == SUCCESS) {
        unshare_private_mappings(host, bytes);
        result = pin(current, host, bytes, false, (flags & READ_ONLY) != 0);
    }
    return leave(result);
}

/* Unregisters or frees. */
static CUresult give_back(void *host, bool allocated) {
    struct context *current;
    CUresult lost;
    CUresult result = enter_to_give_back(&current, &lost);
    if (result == SUCCESS) {
        struct pinned *found = pins;
        while (found != NULL && (found->base != host || found->allocated != allocated)) {
            found = found->next;
        }
        if (found == NULL) {
            result = allocated
                ? violation(double_free, INVALID_VALUE, "%p is no pinned allocation", host)
                : violation(not_registered, HOST_MEMORY_NOT_REGISTERED, "%p is not registered", host);
        } else {
            unpin(found);
            result = lost;
        }
    }
    return leave(result);
}

API cuMemHostUnregister(void *host) {
    return give_back(host, false);
}

API cuMemFreeHost(void *host) {
    return give_back(host, true);
}

API cuMemHostAlloc(void **host, size_t bytes, unsigned flags) {
    struct context *current;
    CUresult result = enter(&current);
    (void) flags;
    if (result == SUCCESS) {
        result = bytes == 0 ? INVALID_VALUE : strikes(fail_host_allocation_at) ? OUT_OF_MEMORY : SUCCESS;
    }
    if (result == SUCCESS) {
        void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        result = mapped == MAP_FAILED ? OUT_OF_MEMORY : pin(current, mapped, bytes, true, false);
        *host = mapped;
    }
    return leave(result);
}

API cuMemAllocHost_v2(void **host, size_t bytes) {
    return cuMemHostAlloc(host, bytes, 0);
}

API cuPointerGetAttribute(void *value, int attribute, CUdeviceptr address) {
    struct context *current;
    CUresult result = enter(&current);
    struct pinned *pinned = NULL;
    struct allocation *found = result == SUCCESS ? allocation_at(address) : NULL;
    if (result == SUCCESS && found == NULL) {
        result = find_pinned((void *) (uintptr_t) address, 1, &pinned);
        result = result == SUCCESS && pinned == NULL ? INVALID_VALUE : result;
    }
    if (result == SUCCESS) {
        int device = found == NULL ? pinned->device : found->device;
        switch (attribute) {
            case 1: /* context */
                *(CUcontext *) value = handle_of(&contexts[device]);
                break;
            case 2: /* kind of memory: 1 of the host, 2 of a device */
                *(unsigned *) value = found == NULL ? 1 : 2;
                break;
            case 3: /* address for a device */
                *(CUdeviceptr *) value = address;
                break;
            case 9: /* device */
                *(int *) value = device;
                break;
            default:
                result = INVALID_VALUE;
        }
    }
    return leave(result);
}

/* Memory and events of other processes */

static const char MAGIC[8] = "stand-in";

API cuIpcGetMemHandle(union ipc *handle, CUdeviceptr address) {
    struct context *current;
    CUresult result = enter(&current);
    struct allocation *found = NULL;
    if (result == SUCCESS && (result = find_memory(address, 1, &found)) == SUCCESS) {
        result = found->base == address && found->opens == 0 ? SUCCESS : INVALID_VALUE;
        result = result == SUCCESS && get(share_memory) == 0 ? NOT_SUPPORTED : result;
    }
    if (result == SUCCESS) {
        memset(handle, 0, sizeof *handle);
        memcpy(handle->of.magic, MAGIC, sizeof MAGIC);
        handle->of.pid = getpid();
        handle->of.file = found->file;
        handle->of.offset = found->offset;
        handle->of.size = (int64_t) found->bytes;
        handle->of.serial = found->serial;
    }
    return leave(result);
}

/* Opens the file of the other process's device, and maps what it shares. */
static CUresult open_other(const union ipc *handle, int *file, struct shared **shared) {
    char path[64];
    if (memcmp(handle->of.magic, MAGIC, sizeof MAGIC) != 0) {
        return INVALID_VALUE;
    }
    if (handle->of.pid == getpid()) {
        return INVALID_CONTEXT; /* as documented: a handle is not opened by the process that made it */
    }
    snprintf(path, sizeof path, "/proc/%d/fd/%d", handle->of.pid, handle->of.file);
    *file = open(path, O_RDWR | O_CLOEXEC);
    *shared = *file < 0
        ? MAP_FAILED
        : mmap(NULL, sizeof **shared, PROT_READ | PROT_WRITE, MAP_SHARED, *file, ADDRESSES_BYTES);
    return *shared == MAP_FAILED ? INVALID_VALUE : SUCCESS;
}

static struct allocation *import_of(const union ipc *handle) {
    struct allocation *found = allocations;
    while (found != NULL
        && (found->opens == 0 || found->from.pid != handle->of.pid || found->from.file != handle->of.file
            || found->from.serial != handle->of.serial)) {
        found = found->next;
    }
    return found;
}

static CUresult import(const struct context *current, const union ipc *handle, struct allocation **made) {
    int file;
    struct shared *shared;
    CUresult result = open_other(handle, &file, &shared);
    if (result == SUCCESS && (*made = new_allocation(current->device, (size_t) handle->of.size)) == NULL) {
        result = OUT_OF_MEMORY;
    }
    if (result == SUCCESS) {
        (*made)->file = file;
        (*made)->offset = handle->of.offset;
        (*made)->shared = shared;
        (*made)->from.pid = handle->of.pid;
        (*made)->from.file = handle->of.file;
        (*made)->from.serial = handle->of.serial;
        int slot = (int) (handle->of.serial % SHARED_SLOTS);
        __atomic_store_n(&shared->memory[slot].opener, getpid(), __ATOMIC_SEQ_CST);
        __atomic_add_fetch(&shared->memory[slot].opens, 1, __ATOMIC_SEQ_CST);
        add(live_imports, 1);
    }
    return result;
}

API cuIpcOpenMemHandle_v2(CUdeviceptr *address, union ipc handle, unsigned flags) {
    struct context *current;
    CUresult result = enter(&current);
    if (result == SUCCESS && flags != 1) {
        result = INVALID_VALUE; /* lazily enabled access is the only flag, and required */
    }
    struct allocation *found = result == SUCCESS ? import_of(&handle) : NULL;
    if (result == SUCCESS && found == NULL) {
        result = import(current, &handle, &found);
    }
    if (result == SUCCESS) {
        found->opens++;
        *address = found->base;
    }
    return leave(result);
}

API cuIpcCloseMemHandle(CUdeviceptr address) {
    struct context *current;
    CUresult lost;
    CUresult result = enter_to_give_back(&current, &lost);
    if (result == SUCCESS) {
        struct allocation *found = allocation_at(address);
        if (found == NULL || found->opens == 0 || found->base != address) {
            result = violation(double_free, INVALID_VALUE, "%#llx is no memory of another process", address);
        } else if (--found->opens == 0) {
            if (found->copies > 0) {
                violation(closed_in_use, SUCCESS, "%#llx is used by a copy", address);
            }
            while (found->copies > 0) {
                wait_for_change(INT64_C(10000000));
            }
            struct shared *shared = found->shared;
            __atomic_add_fetch(&shared->memory[found->from.serial % SHARED_SLOTS].opens, -1, __ATOMIC_SEQ_CST);
            munmap(shared, sizeof *shared);
            close(found->file);
            remove_allocation(found);
            add(live_imports, -1);
        }
        result = result == SUCCESS ? lost : result;
    }
    return leave(result);
}

/* Returns a slot in which other processes see an event. */
struct shared_event *new_shared_event(int device) {
    struct shared_event *event = &memories[device].shared->events[memories[device].events++ % SHARED_SLOTS];
    *event = (struct shared_event) {0, 0};
    return event;
}

/* Writes the handle of an event of this process. */
void write_event_handle(union ipc *handle, int device, const struct shared_event *event) {
    memset(handle, 0, sizeof *handle);
    memcpy(handle->of.magic, MAGIC, sizeof MAGIC);
    handle->of.pid = getpid();
    handle->of.file = memories[device].file;
    handle->of.serial = event - memories[device].shared->events;
}

/* Returns the event of another process; its mapping stays. */
CUresult open_event_handle(const union ipc *handle, struct shared_event **event, pid_t *owner) {
    int file;
    struct shared *shared;
    CUresult result = open_other(handle, &file, &shared);
    if (result == SUCCESS) {
        close(file);
        *owner = handle->of.pid;
        *event = &shared->events[handle->of.serial % SHARED_SLOTS];
    }
    return result;
}

static struct allocation *first_allocation(int device) {
    struct allocation *found = allocations;
    while (found != NULL && (found->device != device || found->opens > 0)) {
        found = found->next;
    }
    return found;
}

static struct pinned *first_pinned(int device) {
    struct pinned *found = pins;
    while (found != NULL && found->device != device) {
        found = found->next;
    }
    return found;
}

/* At the last release of a context, what is left of it is a leak, and ends. */
void end_what_is_left(int device) {
    int left_streams = end_streams(device);
    int left_events = end_events(device);
    int left_allocations = 0;
    int left_pins = 0;
    for (struct allocation *each; (each = first_allocation(device)) != NULL; left_allocations++) {
        free_allocation(each);
    }
    for (struct pinned *each; (each = first_pinned(device)) != NULL; left_pins++) {
        unpin(each);
    }
    if (left_allocations + left_pins + left_streams + left_events > 0) {
        violation(left_at_release, SUCCESS, "device %d: %d allocations, %d pinned ranges, %d streams, %d events", device,
            left_allocations, left_pins, left_streams, left_events);
    }
}
