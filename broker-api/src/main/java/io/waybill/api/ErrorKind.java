package io.waybill.api;

/**
 * PyTorch's three kinds of error. Text form: {@code RPCErr:<kind>:<text>}
 * ({@code torch/csrc/distributed/rpc/utils.cpp}).
 */
public enum ErrorKind {
    UNKNOWN_ERROR(0),
    TIMEOUT(1),
    INTENTIONAL_FAILURE(2);

    private static final String PREFIX = "RPCErr";
    private static final ErrorKind[] BY_CODE = values();

    private final int code;

    ErrorKind(int code) {
        this.code = code;
    }

    public int code() {
        return code;
    }

    /** Returns {@code text} prefixed with this kind. */
    public String encode(String text) {
        return PREFIX + ":" + code + ":" + text;
    }

    /** Returns the kind with this code; {@link #UNKNOWN_ERROR} if the code is undefined. */
    public static ErrorKind of(int code) {
        return code >= 0 && code < BY_CODE.length ? BY_CODE[code] : UNKNOWN_ERROR;
    }

    /**
     * Returns the kind at the start of a text, after any number of {@code Error on Node N: } prefixes;
     * {@link #UNKNOWN_ERROR} if there is none.
     *
     * <p>PyTorch searches the whole text for the prefix, so a text that only quotes a timeout counts as one, and it
     * fails on a kind that is not a number. Both are defects and are not reproduced here.
     */
    public static ErrorKind decode(String text) {
        int at = 0;
        while (text.startsWith("Error on Node ", at)) {
            int colon = text.indexOf(": ", at);
            if (colon < 0) {
                return UNKNOWN_ERROR;
            }
            at = colon + 2;
        }
        if (!text.startsWith(PREFIX + ":", at)) {
            return UNKNOWN_ERROR;
        }
        int start = at + PREFIX.length() + 1;
        int end = text.indexOf(':', start);
        if (end != start + 1 || !Character.isDigit(text.charAt(start))) {
            return UNKNOWN_ERROR;
        }
        return of(text.charAt(start) - '0');
    }
}
