package io.waybill.api.state;

/**
 * Signals that a value exceeds the remaining room of its owner, and that the store does not evict entries for it.
 * Nothing was changed.
 */
public class StateFullException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public StateFullException(String text) {
        super(text);
    }
}
