package io.waybill.api.state;

/**
 * The file of a store that is kept on disk can't be used: it is damaged, or can't be read. The text names the file. The store is not there until the
 * file is repaired, or moved away, which begins an empty store.
 */
public class StateFileException extends IllegalStateException {
    private static final long serialVersionUID = 1L;

    public StateFileException(String text, Throwable cause) {
        super(text, cause);
    }
}
