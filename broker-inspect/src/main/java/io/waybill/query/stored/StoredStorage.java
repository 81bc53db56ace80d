package io.waybill.query.stored;

/**
 * Location of the bytes of a tensor's storage. Immutable.
 *
 * @param number in its message; tensors with the same number share it
 * @param place location of the bytes
 * @param digest CRC-32C of the bytes in eight hexadecimal digits; empty when they are missing
 * @param text description of the location, or of the reason why they are missing
 */
public record StoredStorage(int number, long sizeBytes, Location location, String digest, String text) {

    /** Possible locations. */
    public enum Location {
        /** In the record itself. */
        RECORD,
        ARCHIVE,
        NOWHERE
    }

    public boolean isKept() {
        return location != Location.NOWHERE;
    }
}
