package io.waybill.api;

/** Codes of errors, as sent to callers and counted for operators. A number is never reused. */
public enum ErrorCode {
    /** The payload is not what the handler expects. */
    MALFORMED_BODY(1, Blame.SENDER),
    /** The worker has no handler for the type, and had none recently. */
    UNKNOWN_TYPE(2, Blame.SENDER),
    /** The worker has no handler for the operation's name, or no such operator exists. */
    UNKNOWN_OPERATION(3, Blame.SENDER),
    /** The handler rejected the message. */
    REFUSED(4, Blame.SENDER),
    /** A payload, tensor or count exceeds its limit. */
    TOO_LARGE(5, Blame.SENDER),
    /** The deadline passed before the handler began, or before a response arrived. */
    TIMED_OUT(6, Blame.SENDER),
    /** No worker has this name or id. */
    UNKNOWN_WORKER(7, Blame.SENDER),
    /** No operator schema fits the arguments. */
    NO_MATCHING_SCHEMA(8, Blame.SENDER),
    /** The remote reference was released, or its value was dropped. */
    REFERENCE_DELETED(9, Blame.SENDER),
    /** This worker made no call with this id. */
    UNKNOWN_CALL(10, Blame.SENDER),
    /** An access policy of the worker refused the request, or is not available. */
    ACCESS_DENIED(11, Blame.SENDER),

    /** The handler threw. */
    HANDLER_FAILED(1001, Blame.HANDLER),
    /** The handler was removed, and none was installed before the parking limit. */
    HANDLER_GONE(1002, Blame.HANDLER),
    /** The handler's earlier calls have not returned. */
    HANDLER_STUCK(1003, Blame.HANDLER),
    /** The handler returned without a response. */
    NO_RESPONSE(1004, Blame.HANDLER),

    /** The worker's journal has no room on its disk. */
    JOURNAL_FULL(2001, Blame.BROKER),
    /** Too many calls or bytes are in flight to the peer. */
    BACK_PRESSURE(2002, Blame.BROKER),
    /** The worker is closing or closed. */
    CLOSED(2003, Blame.BROKER),
    /** The peer's process has ended. */
    WORKER_LOST(2004, Blame.BROKER),
    /** Data written by the peer failed its checks. */
    PEER_CORRUPT(2005, Blame.BROKER),
    /** The worker's journal failed and the worker stopped. */
    JOURNAL_FAILED(2006, Blame.BROKER),
    /** The owner of a remote reference ended, and its value is not kept on disk. */
    OWNER_LOST(2007, Blame.BROKER),
    /** The value of a remote reference could not be written to disk. */
    NOT_KEPT(2008, Blame.BROKER),
    /** The caller's worker injected a fault into this request. */
    INTENTIONAL_FAILURE(2009, Blame.BROKER),
    /** The response is in the journal, but the memory that it leased was released with the process of its receiver. */
    RESPONSE_GONE(2010, Blame.BROKER),
    /** The message's tensors lay in a segment of a process that has ended; the segment no longer exists. */
    TENSORS_GONE(2011, Blame.BROKER),
    /** The host gave the reporting worker no file descriptor, memory, thread or disk space, or its disk failed. */
    RESOURCE_UNAVAILABLE(2012, Blame.BROKER),

    /** No room is left for tensors. */
    DEVICE_FULL(3001, Blame.DEVICE),
    /** The device failed. */
    DEVICE_LOST(3002, Blame.DEVICE),
    /** No converter is installed for the device type, or it is unavailable on this host. */
    DEVICE_UNAVAILABLE(3003, Blame.DEVICE),
    /** A tensor is on a device that the device map for the receiver does not name. */
    DEVICE_UNMAPPED(3004, Blame.DEVICE),

    /** Any other error, and any code that this version does not know. */
    UNKNOWN(9999, Blame.BROKER);

    /** The party that can correct the error. */
    public enum Blame {
        SENDER,
        HANDLER,
        BROKER,
        DEVICE
    }

    private static final ErrorCode[] BY_ORDINAL = values();

    private final int number;
    private final Blame blame;

    ErrorCode(int number, Blame blame) {
        this.number = number;
        this.blame = blame;
    }

    /** Returns the number that is sent and documented. */
    public int number() {
        return number;
    }

    public Blame blame() {
        return blame;
    }

    /** Returns the code with this number; {@link #UNKNOWN} when there is none. */
    public static ErrorCode of(int number) {
        for (ErrorCode code : BY_ORDINAL) {
            if (code.number == number) {
                return code;
            }
        }
        return UNKNOWN;
    }
}
