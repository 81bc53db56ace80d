package io.waybill.rref;

/**
 * Value in its owner's memory, which is the broker's, so that no bundle's class loader is retained.
 *
 * <p><b>Ownership.</b> The protocol owns the value from the moment it is handed over. It calls one of the two closing
 * methods, once, when neither a fork nor a local handle nor a running fetch is left, or the worker closes.
 */
public interface OwnedValue extends AutoCloseable {

    /** Closes the value when no worker can reach it any more. */
    @Override
    void close();

    /**
     * Closes the value while the worker closes and others have forks: a value that is kept on the disk stays for its
     * next incarnation.
     */
    default void closeForNow() {
        close();
    }

    /** Returns whether it is kept on the disk, so that it outlives this process. By any thread. */
    default boolean isKept() {
        return false;
    }
}
