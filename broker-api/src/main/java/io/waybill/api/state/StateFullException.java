package io.waybill.api.state;

/** A value does not fit into the room of its owner, and the store evicts nothing for it. Nothing was changed. */
public class StateFullException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public StateFullException(String text) {
        super(text);
    }
}
