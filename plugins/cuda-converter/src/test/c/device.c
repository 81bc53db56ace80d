/* Devices, primary contexts, names of errors. */
#include "driver.h"
#include <stdio.h>
#include <string.h>

enum { CONTEXT_STACK = 16, CONTEXT_HANDLES = 0x0c0de000 };

struct context contexts[MAX_DEVICES];
static int count; /* of devices; 0 until cuInit */

/* The contexts of this thread, the current one last. */
static __thread CUcontext stack[CONTEXT_STACK];
static __thread int depth;
__thread bool in_host_function;

static struct { CUresult code; const char *name, *text; } errors[] = {
    {SUCCESS, "CUDA_SUCCESS", "no error"},
    {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
    {PEER_ACCESS_UNSUPPORTED, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "peer access is not supported between these two devices"},
    {OPERATING_SYSTEM, "CUDA_ERROR_OPERATING_SYSTEM", "OS call failed or operation not supported on this OS"},
    {INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {PEER_ACCESS_ALREADY_ENABLED, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled"},
    {PEER_ACCESS_NOT_ENABLED, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "peer access has not been enabled"},
    {CONTEXT_IS_DESTROYED, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {HOST_MEMORY_ALREADY_REGISTERED, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "part or all of the requested memory range is already mapped"},
    {HOST_MEMORY_NOT_REGISTERED, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "pointer does not correspond to a registered memory region"},
    {NOT_PERMITTED, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination"},
    {UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

/* Takes the lock. What follows may run only when the result is SUCCESS; leave() must follow in any case. */
static CUresult enter_any(struct context **current) {
    lock();
    add(calls, 1);
    if (in_host_function) {
        return violation(call_in_host_function, NOT_PERMITTED, "a host function called the driver");
    }
    if (count == 0) {
        return NOT_INITIALIZED;
    }
    if (depth == 0 || stack[depth - 1] == 0) {
        return INVALID_CONTEXT;
    }
    *current = context_of(stack[depth - 1]);
    return *current == NULL ? CONTEXT_IS_DESTROYED : SUCCESS;
}

/* Begins a call that needs a context. */
CUresult enter(struct context **current) {
    CUresult result = enter_any(current);
    return result == SUCCESS ? loss_of(*current) : result;
}

/* Begins a call that gives something back: on a lost device, too, it is given back, and the loss is returned. */
CUresult enter_to_give_back(struct context **current, CUresult *lost) {
    CUresult result = enter_any(current);
    *lost = result == SUCCESS ? loss_of(*current) : SUCCESS;
    return result;
}

/* Ends a call. */
CUresult leave(CUresult result) {
    unlock();
    return result;
}

CUresult loss_of(const struct context *context) {
    return (get(lost_devices) >> context->device) & 1 ? (CUresult) get(lost_error) : context->failed;
}

CUcontext handle_of(const struct context *context) {
    return CONTEXT_HANDLES + context->incarnation * MAX_DEVICES + context->device;
}

/* Returns the context, or NULL when it was released, or is none. */
struct context *context_of(CUcontext handle) {
    struct context *context = &contexts[handle % MAX_DEVICES];
    return context->retained > 0 && handle_of(context) == handle ? context : NULL;
}

static CUresult check(CUdevice device) {
    return count == 0 ? NOT_INITIALIZED : device < 0 || device >= count ? INVALID_DEVICE : SUCCESS;
}

API cuInit(unsigned flags) {
    lock();
    CUresult result = flags != 0 ? INVALID_VALUE : (CUresult) get(init_error);
    int devices_there = (int) get(devices);
    if (result == SUCCESS && devices_there < 1) {
        result = 100;
    }
    for (int device = 0; count == 0 && result == SUCCESS && device < devices_there && device < MAX_DEVICES; device++) {
        contexts[device].device = device;
        result = open_device_memory(device);
    }
    if (count == 0 && result == SUCCESS) {
        count = devices_there < MAX_DEVICES ? devices_there : MAX_DEVICES;
    }
    return leave(result);
}

API cuDriverGetVersion(int *version) {
    *version = (int) get(driver_version);
    return SUCCESS;
}

API cuDeviceGetCount(int *devices_there) {
    *devices_there = count;
    return count == 0 ? NOT_INITIALIZED : SUCCESS;
}

API cuDeviceGet(CUdevice *device, int ordinal) {
    *device = ordinal;
    return check(ordinal);
}

API cuDeviceGetName(char *name, int length, CUdevice device) {
    snprintf(name, length, "Stand-in %d", device);
    return check(device);
}

API cuDeviceGetUuid(unsigned char uuid[16], CUdevice device) {
    memset(uuid, 0, 16);
    memcpy(uuid, "waybill-stand-in", 15);
    uuid[15] = (unsigned char) device;
    return check(device);
}

API cuDeviceGetPCIBusId(char *id, int length, CUdevice device) {
    snprintf(id, length, "0000:%02x:00.0", device + 1);
    return check(device);
}

API cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
    *bytes = (size_t) get(device_bytes);
    return check(device);
}

API cuDeviceGetAttribute(int *value, int attribute, CUdevice device) {
    switch (attribute) {
        case 15: /* overlap of copies */
        case 19: /* can map host memory */
        case 31: /* concurrent kernels */
        case 41: /* unified addressing */
        case 99: /* can register host memory */
        case 125: /* events for other processes */
            *value = 1;
            break;
        case 16: /* multiprocessors */
            *value = 4;
            break;
        case 113: /* can register host memory for reading only */
            *value = get(read_only_register) != 0;
            break;
        case 33: /* PCI bus */
            *value = device + 1;
            break;
        case 40: /* copy engines */
            *value = 2;
            break;
        case 75: /* compute capability */
            *value = 8;
            break;
        default:
            *value = 0;
    }
    return check(device);
}

API cuDevicePrimaryCtxRetain(CUcontext *handle, CUdevice device) {
    lock();
    CUresult result = check(device);
    if (result == SUCCESS) {
        struct context *context = &contexts[device];
        result = context->retained == 0 ? SUCCESS : loss_of(context);
        if (result == SUCCESS) {
            context->incarnation += context->retained++ == 0;
            add(live_contexts, 1);
            *handle = handle_of(context);
        }
    }
    return leave(result);
}

API cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    lock();
    CUresult result = check(device);
    struct context *context = &contexts[result == SUCCESS ? device : 0];
    if (result == SUCCESS && context->retained == 0) {
        result = violation(double_free, INVALID_CONTEXT, "the context of device %d is released and not retained", device);
    }
    if (result == SUCCESS) {
        add(live_contexts, -1);
        if (--context->retained == 0) {
            end_what_is_left(device);
            memset(context->can_access, 0, sizeof context->can_access);
            context->failed = SUCCESS;
        }
    }
    return leave(result);
}

API cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
    (void) flags;
    return check(device);
}

API cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active) {
    lock();
    CUresult result = check(device);
    *flags = 0;
    *active = result == SUCCESS && contexts[device].retained > 0;
    return leave(result);
}

/* As the last one to become current in this thread, or instead of it. */
static CUresult make_current(CUcontext handle, int at) {
    if (in_host_function) {
        return violation(call_in_host_function, NOT_PERMITTED, "a host function made a context current");
    }
    lock();
    bool known = handle == 0 || context_of(handle) != NULL;
    unlock();
    if (!known) {
        return violation(wrong_context, INVALID_CONTEXT, "context %#lx was released, or is none", (unsigned long) handle);
    }
    if (at >= CONTEXT_STACK) {
        return INVALID_VALUE;
    }
    stack[at] = handle;
    depth = at + 1;
    return SUCCESS;
}

API cuCtxSetCurrent(CUcontext handle) {
    return make_current(handle, depth == 0 ? 0 : depth - 1);
}

API cuCtxPushCurrent_v2(CUcontext handle) {
    return handle == 0 ? INVALID_CONTEXT : make_current(handle, depth);
}

API cuCtxPopCurrent_v2(CUcontext *handle) {
    if (depth == 0) {
        return INVALID_CONTEXT;
    }
    depth--;
    if (handle != NULL) {
        *handle = stack[depth];
    }
    return SUCCESS;
}

API cuCtxGetCurrent(CUcontext *handle) {
    *handle = depth == 0 ? 0 : stack[depth - 1];
    return count == 0 ? NOT_INITIALIZED : SUCCESS;
}

API cuCtxGetDevice(CUdevice *device) {
    struct context *current;
    CUresult result = enter(&current);
    if (result == SUCCESS) {
        *device = current->device;
    }
    return leave(result);
}

API cuCtxGetStreamPriorityRange(int *least, int *greatest) {
    *least = *greatest = 0;
    return SUCCESS;
}

API cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
    *can = device != peer && get(peer_access) != 0;
    CUresult result = check(device);
    return result == SUCCESS ? check(peer) : result;
}

API cuCtxEnablePeerAccess(CUcontext handle, unsigned flags) {
    struct context *current;
    CUresult result = enter(&current);
    struct context *peer = result == SUCCESS ? context_of(handle) : NULL;
    if (result == SUCCESS) {
        result = flags != 0 ? INVALID_VALUE
            : peer == NULL || peer == current ? INVALID_CONTEXT
            : get(peer_access) == 0 ? PEER_ACCESS_UNSUPPORTED
            : current->can_access[peer->device] ? PEER_ACCESS_ALREADY_ENABLED
            : SUCCESS;
    }
    if (result == SUCCESS) {
        current->can_access[peer->device] = true;
    }
    return leave(result);
}

API cuCtxDisablePeerAccess(CUcontext handle) {
    struct context *current;
    CUresult result = enter(&current);
    struct context *peer = result == SUCCESS ? context_of(handle) : NULL;
    if (result == SUCCESS) {
        result = peer == NULL ? INVALID_CONTEXT
            : current->can_access[peer->device] ? SUCCESS
            : PEER_ACCESS_NOT_ENABLED;
    }
    if (result == SUCCESS) {
        current->can_access[peer->device] = false;
    }
    return leave(result);
}

static CUresult describe(CUresult code, bool by_name, const char **text) {
    *text = NULL;
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        if (errors[i].code == code) {
            *text = by_name ? errors[i].name : errors[i].text;
        }
    }
    return *text == NULL ? INVALID_VALUE : SUCCESS;
}

API cuGetErrorName(CUresult code, const char **name) {
    return describe(code, true, name);
}

API cuGetErrorString(CUresult code, const char **text) {
    return describe(code, false, text);
}
