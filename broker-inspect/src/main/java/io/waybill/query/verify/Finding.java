package io.waybill.query.verify;

import io.waybill.api.WorkerInfo;
import io.waybill.journal.JournalQueue;
import java.nio.file.Path;
import java.util.Optional;

/**
 * A finding of {@code verify}. Immutable.
 *
 * @param worker owner of the journal; empty for the home
 * @param file with the finding; empty if it is in no single file
 * @param from first byte in the file
 * @param to end of the range, exclusive
 */
public record Finding(
        Severity severity,
        Kind kind,
        Optional<WorkerInfo> worker,
        Optional<JournalQueue> queue,
        Optional<Path> file,
        long from,
        long to,
        String text) {

    /** Severity for the journal. */
    public enum Severity {
        /** Written data is missing or altered. */
        DAMAGE,
        /** Information without damage. */
        NOTE
    }

    /** Kind of the problem. */
    public enum Kind {
        /** Bytes that are no record, or an unreadable file. */
        UNREADABLE,
        /** Contents of a queue's file apart from the records, on which readers and the writer rely. */
        STRUCTURE,
        /** Numbers of records that don't follow each other. */
        MISSING,
        /** A record at a wrong position. */
        MISPLACED,
        /** A response to a request that its caller's journal does not have. */
        NO_REQUEST,
        /** A worker claims to have read beyond the end of a queue. */
        BEYOND_END,
        /** More than one response to a request. */
        RESPONDED_AGAIN,
        /** A request without a response. */
        NO_RESPONSE,
        /** A request without a response, to a worker that lost responses. */
        LOST_RESPONSE,
        /** Data that was no longer on record when a slice was created. */
        NOT_INCLUDED
    }

    public boolean isDamage() {
        return severity == Severity.DAMAGE;
    }
}
