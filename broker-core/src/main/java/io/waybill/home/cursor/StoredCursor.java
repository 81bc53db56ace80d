package io.waybill.home.cursor;

/**
 * What a worker's {@code cursors} say about one peer, read from the file. Immutable.
 *
 * @param requestsIndex position in the peer's requests up to which all is read; -1 when unknown
 * @param responsesIndex position in the peer's responses up to which all is read; -1 when unknown
 * @param requestsFinished position in the peer's requests before which all for the worker are finished; -1 when unknown
 * @param requestsConsumed requests for the worker that it has read
 * @param requestBytesConsumed bytes of those
 */
public record StoredCursor(
        int peerId,
        long requestsIndex,
        long responsesIndex,
        long requestsFinished,
        long requestsConsumed,
        long requestBytesConsumed) {}
