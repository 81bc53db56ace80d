package io.waybill.archive;

import java.util.Optional;

/**
 * Reason why the bytes of a storage are not in an archive. Numbers are never reused; numbers from 64 on are not written
 * into files.
 */
public enum Omission {
    /** The storage is larger than the policy allows. */
    TOO_LARGE(1, "it is larger than archive.max-storage-bytes"),
    /** The archives of the worker have reached their max size. */
    QUOTA(2, "the archive had reached archive.total-bytes"),
    /** Too many bytes waited, and the worker was not to wait for them. */
    OVERFLOW(3, "the archive did not keep up, and archive.overflow is drop"),
    /** The disk had no room in addition to the journals' needs. */
    DISK_FULL(4, "the disk was full"),
    /** The segment could not be read. */
    UNREADABLE(5, "the segment could not be read"),
    /** The archive's file could not be written. */
    WRITE_FAILED(6, "the archive could not be written"),
    /** The worker was closed before. */
    CLOSED(7, "the worker was closed before it was archived"),
    /** The max rate of the archive was reached, and the worker was not to wait. */
    RATE(8, "the archive had reached archive.bytes-per-second"),

    /** The archive has no file for this file of the queue. */
    NO_ARCHIVE(64, "there is no archive of this file of the journal: its policy was none, or it was removed"),
    /** The file's records were removed, to make room for newer ones. */
    REMOVED(65, "it was removed to keep the archive within archive.total-bytes"),
    /** The worker kept nothing when the message was sent. */
    NOT_KEPT(66, "archive.policy was none when the message was sent"),
    /** The worker's process ended before it was archived. */
    LOST(67, "the worker's process ended before it was archived"),
    /** The worker has not archived it yet, or was killed and has not returned. */
    PENDING(68, "it is not archived yet, or the worker's process ended before it was"),
    /** The archive is damaged at its position. */
    DAMAGED(69, "the archive is damaged there");

    private static final int FIRST_UNWRITTEN = 64;

    private final int code;
    private final String text;

    Omission(int code, String text) {
        this.code = code;
        this.text = text;
    }

    /** Returns the number of the omission in a record. */
    int code() {
        return code;
    }

    /** Returns the reason, as part of a sentence about the storage. */
    public String text() {
        return text;
    }

    /** Returns the omission with this number in a record; empty for 0 and undefined numbers. */
    static Optional<Omission> of(int code) {
        for (Omission omission : values()) {
            if (omission.code == code && code < FIRST_UNWRITTEN) {
                return Optional.of(omission);
            }
        }
        return Optional.empty();
    }
}
