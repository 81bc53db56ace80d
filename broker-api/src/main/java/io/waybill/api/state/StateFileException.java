package io.waybill.api.state;

/**
 * Signals that the file of a store on disk is damaged, or can't be read or written. The text names the file. A store
 * that can't be read is unavailable until the file is repaired, or moved away, which starts an empty store; one that
 * can't be written continues in memory.
 */
public class StateFileException extends IllegalStateException {
    private static final long serialVersionUID = 1L;

    public StateFileException(String text, Throwable cause) {
        super(text, cause);
    }
}
