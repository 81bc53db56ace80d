package io.waybill.query.stored;

/**
 * What is left of the bytes of a tensor's storage. Immutable.
 *
 * @param number in its message; tensors of one number share it
 * @param location where its bytes are
 * @param digest CRC-32C of the bytes in eight hexadecimal digits; empty text when they are not there
 * @param text where they are, or why they are not, for people
 */
public record StoredStorage(int number, long sizeBytes, Location location, String digest, String text) {

    /** Where bytes may be. */
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
