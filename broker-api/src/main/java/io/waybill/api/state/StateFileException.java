package io.waybill.api.state;

/**
 * Signals that the file of a store on disk is damaged or can't be read. The text names the file. The store is
 * unavailable until the file is repaired, or moved away, which starts an empty store.
 */
public class StateFileException extends IllegalStateException {
    private static final long serialVersionUID = 1L;

    public StateFileException(String text, Throwable cause) {
        super(text, cause);
    }
}
