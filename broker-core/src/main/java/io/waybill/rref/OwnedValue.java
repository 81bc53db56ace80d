package io.waybill.rref;

/**
 * A value as its owner has it: memory of the broker's, so that no bundle's class loader is held.
 *
 * <p><b>Ownership.</b> The protocol's from the moment it is handed over. It closes it once, when neither a fork nor a local handle nor a
 * running fetch is left.
 */
public interface OwnedValue extends AutoCloseable {

    @Override
    void close();
}
