package io.waybill.api;

import java.util.HexFormat;
import java.util.Locale;
import java.util.Optional;

/**
 * Type of a message: a kind (the low byte) and a flag for request or response.
 *
 * <p>Kinds 0x00–0x3f are PyTorch's, with PyTorch's values ({@code torch/csrc/distributed/rpc/message.h}). 0x40 and 0x41
 * are calls to an operation by name. 0x42–0xef are free for users; 0xf0–0xff are the broker's control messages.
 *
 * <p>Instances are interned: {@link #of} never allocates, and {@code ==} compares. Immutable.
 */
public final class MessageType {

    /** Flag of a request. */
    public static final int REQUEST_FLAG = 0x100;
    /** Flag of a response. */
    public static final int RESPONSE_FLAG = 0x200;
    /** First kind that is free for users; the last is {@link #LAST_USER_KIND}. */
    public static final int FIRST_USER_KIND = 0x42;
    /** Last kind that is free for users. */
    public static final int LAST_USER_KIND = 0xef;

    private static final int CONTROL_KIND = 0xf0;

    private static final HexFormat DIGITS = HexFormat.of().withUpperCase();

    private static final MessageType[] BY_CODE = new MessageType[0x400];

    public static final MessageType SCRIPT_CALL = define(0x100, "SCRIPT_CALL", 0x201);
    public static final MessageType SCRIPT_RET = define(0x201, "SCRIPT_RET", 0);
    public static final MessageType PYTHON_CALL = define(0x102, "PYTHON_CALL", 0x203);
    public static final MessageType PYTHON_RET = define(0x203, "PYTHON_RET", 0);
    public static final MessageType SCRIPT_REMOTE_CALL = define(0x104, "SCRIPT_REMOTE_CALL", 0x206);
    public static final MessageType PYTHON_REMOTE_CALL = define(0x105, "PYTHON_REMOTE_CALL", 0x206);
    public static final MessageType REMOTE_RET = define(0x206, "REMOTE_RET", 0);
    public static final MessageType SCRIPT_RREF_FETCH_CALL = define(0x107, "SCRIPT_RREF_FETCH_CALL", 0x209);
    public static final MessageType PYTHON_RREF_FETCH_CALL = define(0x108, "PYTHON_RREF_FETCH_CALL", 0x20a);
    public static final MessageType SCRIPT_RREF_FETCH_RET = define(0x209, "SCRIPT_RREF_FETCH_RET", 0);
    public static final MessageType PYTHON_RREF_FETCH_RET = define(0x20a, "PYTHON_RREF_FETCH_RET", 0);
    public static final MessageType RREF_USER_DELETE = define(0x10b, "RREF_USER_DELETE", 0x20e);
    public static final MessageType RREF_FORK_REQUEST = define(0x10c, "RREF_FORK_REQUEST", 0x20e);
    public static final MessageType RREF_CHILD_ACCEPT = define(0x10d, "RREF_CHILD_ACCEPT", 0x20e);
    public static final MessageType RREF_ACK = define(0x20e, "RREF_ACK", 0);
    public static final MessageType FORWARD_AUTOGRAD_REQ = define(0x10f, "FORWARD_AUTOGRAD_REQ", 0x210);
    public static final MessageType FORWARD_AUTOGRAD_RESP = define(0x210, "FORWARD_AUTOGRAD_RESP", 0);
    public static final MessageType BACKWARD_AUTOGRAD_REQ = define(0x111, "BACKWARD_AUTOGRAD_REQ", 0x212);
    public static final MessageType BACKWARD_AUTOGRAD_RESP = define(0x212, "BACKWARD_AUTOGRAD_RESP", 0);
    public static final MessageType CLEANUP_AUTOGRAD_CONTEXT_REQ = define(0x113, "CLEANUP_AUTOGRAD_CONTEXT_REQ", 0x214);
    public static final MessageType CLEANUP_AUTOGRAD_CONTEXT_RESP = define(0x214, "CLEANUP_AUTOGRAD_CONTEXT_RESP", 0);
    public static final MessageType RUN_WITH_PROFILING_REQ = define(0x115, "RUN_WITH_PROFILING_REQ", 0x216);
    public static final MessageType RUN_WITH_PROFILING_RESP = define(0x216, "RUN_WITH_PROFILING_RESP", 0);
    public static final MessageType RREF_BACKWARD_REQ = define(0x117, "RREF_BACKWARD_REQ", 0x218);
    public static final MessageType RREF_BACKWARD_RESP = define(0x218, "RREF_BACKWARD_RESP", 0);
    /** Response to any request that failed. The payload is the error's text in UTF-8. */
    public static final MessageType EXCEPTION = define(0x237, "EXCEPTION", 0);
    /** Placeholder for a message without a type: neither a request nor a response. */
    public static final MessageType UNKNOWN = define(0x3c, "UNKNOWN", 0);
    /** Call to an operation by its name, such as {@code text.count}. */
    public static final MessageType NAMED_CALL = define(0x140, "NAMED_CALL", 0x241);
    /** Response to a {@link #NAMED_CALL}. */
    public static final MessageType NAMED_RET = define(0x241, "NAMED_RET", 0);

    /** Call to a control operation by its name, such as {@code bundle.install}. */
    public static final MessageType CONTROL_CALL = define(CONTROL_KIND | REQUEST_FLAG, "CONTROL_CALL", 0x2f0);
    /** Response to a {@link #CONTROL_CALL}. */
    public static final MessageType CONTROL_RET = define(CONTROL_KIND | RESPONSE_FLAG, "CONTROL_RET", 0);

    static {
        SCRIPT_CALL.hasCreatingForm(SCRIPT_REMOTE_CALL);
        PYTHON_CALL.hasCreatingForm(PYTHON_REMOTE_CALL);
        for (int kind = FIRST_USER_KIND; kind <= LAST_USER_KIND; kind++) {
            define(kind, "USER_0X" + hex(kind));
        }
        for (int kind = CONTROL_KIND + 1; kind <= 0xff; kind++) {
            define(kind, "CONTROL_0X" + hex(kind));
        }
    }

    private final int code;
    private final String name;
    private final int responseCode;
    private MessageType creating; // null for none; written while this class is initialized
    private MessageType plain = this; // written while this class is initialized

    private MessageType(int code, String name, int responseCode) {
        this.code = code;
        this.name = name;
        this.responseCode = responseCode;
    }

    private static void define(int kind, String range) {
        define(kind | REQUEST_FLAG, range + "_CALL", kind | RESPONSE_FLAG);
        define(kind | RESPONSE_FLAG, range + "_RET", 0);
    }

    /**
     * Formats a kind as two hexadecimal digits. Avoids {@code String.format}, because each process formats four
     * hundred kinds when it starts.
     */
    private static String hex(int kind) {
        return DIGITS.toHexDigits((byte) kind);
    }

    private static MessageType define(int code, String name, int responseCode) {
        MessageType type = new MessageType(code, name, responseCode);
        BY_CODE[code] = type;
        return type;
    }

    private void hasCreatingForm(MessageType form) {
        creating = form;
        form.plain = this;
    }

    /** Returns whether a type has this code. */
    public static boolean isKnown(int code) {
        return code >= 0 && code < BY_CODE.length && BY_CODE[code] != null;
    }

    /**
     * Returns the type with this code.
     *
     * @throws IllegalArgumentException when there is none
     */
    public static MessageType of(int code) {
        if (!isKnown(code)) {
            throw new IllegalArgumentException(String.format(Locale.ROOT, "no message type has the code 0x%x", code));
        }
        return BY_CODE[code];
    }

    /** Returns the request type of a user's own kind, 0x42–0xef. */
    public static MessageType userRequest(int kind) {
        if (kind < FIRST_USER_KIND || kind > LAST_USER_KIND) {
            throw new IllegalArgumentException(
                    String.format(Locale.ROOT, "a user's kind is from 0x42 to 0xef: 0x%x", kind));
        }
        return BY_CODE[kind | REQUEST_FLAG];
    }

    /** Returns the type with this name, such as {@code SCRIPT_CALL}, or with this code, written {@code 0x142}. */
    public static Optional<MessageType> named(String name) {
        for (MessageType type : BY_CODE) {
            if (type != null
                    && (type.name.equals(name)
                            || String.format(Locale.ROOT, "0x%x", type.code).equalsIgnoreCase(name))) {
                return Optional.of(type);
            }
        }
        return Optional.empty();
    }

    /** Returns the code that is sent: kind and flag together. */
    public int code() {
        return code;
    }

    public String name() {
        return name;
    }

    public boolean isRequest() {
        return (code & REQUEST_FLAG) != 0;
    }

    public boolean isResponse() {
        return (code & RESPONSE_FLAG) != 0;
    }

    /** Returns the type of the response to this request; empty when this is not a request. */
    public Optional<MessageType> response() {
        return responseCode == 0 ? Optional.empty() : Optional.of(BY_CODE[responseCode]);
    }

    /**
     * Returns the type of the requests that leave the result of this one on the receiver, as the value of a remote
     * reference; empty if there is none.
     */
    public Optional<MessageType> creating() {
        return Optional.ofNullable(creating);
    }

    /**
     * Returns whether a request of this type leaves its result on the receiver. The handler of its
     * {@linkplain #plain() plain} type receives it.
     */
    public boolean isCreating() {
        return plain != this;
    }

    /**
     * Returns the type of the call whose result a request of this type leaves on the receiver; this type if it
     * {@linkplain #isCreating() leaves none}.
     */
    public MessageType plain() {
        return plain;
    }

    /** Returns whether {@code response} is valid for this request: its own response type, or an exception. */
    public boolean hasResponse(MessageType response) {
        return isRequest() && (response.code == responseCode || response == EXCEPTION);
    }

    @Override
    public String toString() {
        return name;
    }
}
