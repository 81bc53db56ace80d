package io.waybill.query.stored;

import io.waybill.api.tensor.Tensor;
import io.waybill.tensor.DescribedTensors;
import java.util.Locale;
import java.util.zip.CRC32C;

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
        /** In a slice. */
        SLICE,
        NOWHERE
    }

    /** Returns the storage of a tensor whose bytes are in its record. */
    public static StoredStorage inRecord(Tensor tensor) {
        long bytes = tensor.storage().sizeBytes();
        CRC32C checksum = new CRC32C();
        checksum.update(tensor.storage().bytes(0, (int) bytes));
        String digest = String.format(Locale.ROOT, "%08x", checksum.getValue());
        int number = DescribedTensors.storageOf(tensor);
        return new StoredStorage(number, bytes, Location.RECORD, digest, "in the record, crc32c " + digest);
    }

    public boolean isKept() {
        return location != Location.NOWHERE;
    }
}
