package io.waybill.api;

/** What went wrong, for the caller's error and the operator's counters. Numbers are never reused. */
public enum ErrorCode {
    /** The payload is not what the handler expects. */
    MALFORMED_BODY(1, Blame.SENDER),
    /** No handler for the type, and none left recently. */
    UNKNOWN_TYPE(2, Blame.SENDER),
    /** No handler for the operation's name, or no such operator. */
    UNKNOWN_OPERATION(3, Blame.SENDER),
    /** The handler looked at the message and said no. */
    REFUSED(4, Blame.SENDER),
    /** A payload, tensor or count over its limit. */
    TOO_LARGE(5, Blame.SENDER),
    /** The deadline had passed before the handler began, or passed before a response came. */
    TIMED_OUT(6, Blame.SENDER),
    /** No worker has this name or id. */
    UNKNOWN_WORKER(7, Blame.SENDER),
    /** No operator schema fits the arguments. */
    NO_MATCHING_SCHEMA(8, Blame.SENDER),
    /** The remote reference was given back, or its value was dropped. */
    REFERENCE_DELETED(9, Blame.SENDER),
    /** No call of this id was made by this worker. */
    UNKNOWN_CALL(10, Blame.SENDER),

    /** The handler threw. */
    HANDLER_FAILED(1001, Blame.HANDLER),
    /** The handler left and none came before the parking limit. */
    HANDLER_GONE(1002, Blame.HANDLER),
    /** The handler does not come back from its calls. */
    HANDLER_STUCK(1003, Blame.HANDLER),
    /** The handler returned without a response. */
    NO_RESPONSE(1004, Blame.HANDLER),

    /** The worker's journal has no room on its disk. */
    JOURNAL_FULL(2001, Blame.BROKER),
    /** Too many calls or bytes on their way to the peer. */
    BACK_PRESSURE(2002, Blame.BROKER),
    /** The worker left or is closing. */
    CLOSED(2003, Blame.BROKER),
    /** The peer's process is gone. */
    WORKER_LOST(2004, Blame.BROKER),
    /** What the peer wrote does not read back whole. */
    PEER_CORRUPT(2005, Blame.BROKER),
    /** The worker's journal failed and the worker stopped. */
    JOURNAL_FAILED(2006, Blame.BROKER),
    /** The owner of a remote reference died, and its value is not kept. */
    OWNER_LOST(2007, Blame.BROKER),
    /** The value of a remote reference was to be kept on the disk, and could not be. */
    NOT_KEPT(2008, Blame.BROKER),
    /** The caller's worker injects faults, and this request was to fail. */
    INTENTIONAL_FAILURE(2009, Blame.BROKER),
    /** The response is on record, but what it leased ended with the process that it was for. */
    RESPONSE_GONE(2010, Blame.BROKER),
    /** The message's tensors lay in a segment of a process that is gone, and its segments with it. */
    TENSORS_GONE(2011, Blame.BROKER),

    /** No room for tensors. */
    DEVICE_FULL(3001, Blame.DEVICE),
    /** The device failed. */
    DEVICE_LOST(3002, Blame.DEVICE),
    /** No converter for the device type, or it is unavailable here. */
    DEVICE_UNAVAILABLE(3003, Blame.DEVICE),

    /** Anything else, and any code that this version does not know. */
    UNKNOWN(9999, Blame.BROKER);

    /** Who can do something about it. */
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

    /** What travels and what is documented. */
    public int number() {
        return number;
    }

    public Blame blame() {
        return blame;
    }

    /** The code with this number; {@link #UNKNOWN} when there is none. */
    public static ErrorCode of(int number) {
        for (ErrorCode code : BY_ORDINAL) {
            if (code.number == number) {
                return code;
            }
        }
        return UNKNOWN;
    }
}
