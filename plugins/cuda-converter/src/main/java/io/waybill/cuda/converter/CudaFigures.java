package io.waybill.cuda.converter;

/**
 * What is open on devices: all 0 after the converter and the last storage have ended.
 *
 * @param bytesInUse of storages, rounded up
 * @param bytesCached allocated, and free for the next storage
 * @param streams for copies
 * @param events that were created and not destroyed
 * @param contexts that are retained
 * @param pinned segments that are pinned
 * @param opened allocations of other processes
 */
record CudaFigures(long bytesInUse, long bytesCached, int streams, int events, int contexts, int pinned, int opened) {

    static final CudaFigures NONE = new CudaFigures(0, 0, 0, 0, 0, 0, 0);

    CudaFigures plus(CudaFigures other) {
        return new CudaFigures(
                bytesInUse + other.bytesInUse,
                bytesCached + other.bytesCached,
                streams + other.streams,
                events + other.events,
                contexts + other.contexts,
                pinned + other.pinned,
                opened + other.opened);
    }

    CudaFigures withPinned(int segments) {
        return new CudaFigures(bytesInUse, bytesCached, streams, events, contexts, segments, opened);
    }
}
