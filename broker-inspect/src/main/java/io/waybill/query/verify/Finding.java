package io.waybill.query.verify;

import io.waybill.api.WorkerInfo;
import io.waybill.journal.JournalQueue;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Something that {@code verify} found. Immutable.
 *
 * @param worker whose journal it is about; empty when it is about the home
 * @param file where it lies; empty when it lies in no one place
 * @param from first byte in the file
 * @param to behind the last byte
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

    /** What it means for the journal. */
    public enum Severity {
        /** Something that was written is not there, or not what was written. */
        DAMAGE,
        /** Worth knowing, and no damage. */
        NOTE
    }

    /** What is wrong. */
    public enum Kind {
        /** Bytes that are no record, or a file that is none. */
        UNREADABLE,
        /** What a queue's file holds beside the records, and what readers and the writer go by. */
        STRUCTURE,
        /** Numbers of records that don't follow each other. */
        MISSING,
        /** A record that belongs somewhere else. */
        MISPLACED,
        /** A response to a request that its caller's journal does not have. */
        NO_REQUEST,
        /** A worker says that it has read more of a queue than there is. */
        BEYOND_END,
        /** More than one response to a request. */
        ANSWERED_AGAIN,
        /** A request without a response. */
        NO_RESPONSE,
        /** A request without a response, to a worker that lost answers. */
        LOST_RESPONSE
    }

    public boolean isDamage() {
        return severity == Severity.DAMAGE;
    }
}
