package io.waybill.home;

/**
 * What a worker's {@code cursors} say about one peer, read from the file. Immutable.
 *
 * @param requestsIndex position in the peer's requests up to which all is read; -1 when unknown
 * @param responsesIndex position in the peer's responses up to which all is read; -1 when unknown
 * @param requestsConsumed requests for the worker that it has read
 * @param requestBytesConsumed bytes of those
 */
public record StoredCursor(
        int peerId, long requestsIndex, long responsesIndex, long requestsConsumed, long requestBytesConsumed) {}
