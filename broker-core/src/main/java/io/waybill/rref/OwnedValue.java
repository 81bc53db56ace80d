package io.waybill.rref;

/**
 * A value as its owner has it: memory of the broker's, so that no bundle's class loader is held.
 *
 * <p><b>Ownership.</b> The protocol's from the moment it is handed over. It calls one of the two ends, once, when neither a fork nor a local
 * handle nor a running fetch is left, or the worker closes.
 */
public interface OwnedValue extends AutoCloseable {

    /** No worker can reach it any more, now or later. */
    @Override
    void close();

    /** The worker closes while others have forks: what is kept on the disk stays for its next incarnation. */
    default void closeForNow() {
        close();
    }

    /** Whether it is kept on the disk, so that it outlives this process. Any thread. */
    default boolean isKept() {
        return false;
    }
}
