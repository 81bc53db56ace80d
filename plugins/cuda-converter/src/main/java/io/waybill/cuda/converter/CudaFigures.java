package io.waybill.cuda.converter;

/**
 * Open resources on devices: all 0 after the converter was closed and the last storage was released.
 *
 * @param bytesInUse memory of storages, rounded up
 * @param bytesCached memory that is cached for later storages
 * @param streams streams for copies
 * @param events events that were created and not destroyed
 * @param contexts retained contexts
 * @param pinned pinned segments
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
