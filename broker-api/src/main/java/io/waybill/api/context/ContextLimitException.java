package io.waybill.api.context;

/** Signals that a context would exceed one of its limits. Nothing was changed. */
public class ContextLimitException extends IllegalArgumentException {
    private static final long serialVersionUID = 1L;

    private final String limit;
    private final long max;
    private final long found;

    /**
     * Creates an exception.
     *
     * @param limit name of the limited quantity
     */
    public ContextLimitException(String limit, long max, long found) {
        super("the context of a call has at most " + max + " " + limit + ", and this one would have " + found);
        this.limit = limit;
        this.max = max;
        this.found = found;
    }

    /** Returns the name of the limited quantity, such as {@code entries}. */
    public String limit() {
        return limit;
    }

    /** Returns the limit. */
    public long max() {
        return max;
    }

    /** Returns the quantity that the context would have had. */
    public long found() {
        return found;
    }
}
