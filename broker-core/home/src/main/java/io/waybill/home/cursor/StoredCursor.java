package io.waybill.home.cursor;

/**
 * Entry of a worker's {@code cursors} for one peer, read from the file. Immutable.
 *
 * @param requestsIndex position in the peer's requests up to which all are read; -1 when unknown
 * @param responsesIndex position in the peer's responses up to which all are read; -1 when unknown
 * @param requestsCompletedBefore low watermark in the peer's requests; -1 when unknown
 * @param requestsConsumed requests for the worker that it has read
 * @param requestBytesConsumed size of these requests in bytes
 */
public record StoredCursor(
        int peerId,
        long requestsIndex,
        long responsesIndex,
        long requestsCompletedBefore,
        long requestsConsumed,
        long requestBytesConsumed) {}
