package io.waybill.journal.index;

import io.waybill.journal.RecordPosition;
import io.waybill.journal.Roll;
import java.nio.ByteBuffer;
import java.util.Optional;

/**
 * Last indexed record of a queue, with the values that identify it. Immutable.
 *
 * @param sequence number of the record in its queue
 * @param checksum checksum of the record, as written in it
 */
record Checkpoint(RecordPosition position, long sequence, long id, int checksum) {

    private static final int LENGTH = PositionCode.LENGTH + 8 + 8 + 4;

    byte[] toBytes() {
        ByteBuffer bytes = ByteBuffer.allocate(LENGTH);
        bytes.put(PositionCode.bytes(position.roll(), position.index(), position.offset()));
        return bytes.putLong(sequence).putLong(id).putInt(checksum).array();
    }

    /** Decodes a checkpoint; empty when the bytes are none. */
    static Optional<Checkpoint> of(byte[] bytes) {
        if (bytes == null || bytes.length != LENGTH) {
            return Optional.empty();
        }
        ByteBuffer rest = ByteBuffer.wrap(bytes, PositionCode.LENGTH, LENGTH - PositionCode.LENGTH);
        return PositionCode.position(bytes)
                .map(position -> new Checkpoint(position, rest.getLong(), rest.getLong(), rest.getInt()));
    }

    /** Codec of a position in the index: roll cycle (1 byte), index (8), offset (8), big-endian. */
    static final class PositionCode {

        static final int LENGTH = 1 + 8 + 8;

        private static final Roll[] ROLLS = Roll.values();

        private PositionCode() {}

        static byte[] bytes(Roll roll, long index, long offset) {
            return ByteBuffer.allocate(LENGTH)
                    .put((byte) roll.ordinal())
                    .putLong(index)
                    .putLong(offset)
                    .array();
        }

        /** Decodes a position; empty when the bytes are none. Further bytes are ignored. */
        static Optional<RecordPosition> position(byte[] bytes) {
            ByteBuffer from = ByteBuffer.wrap(bytes);
            int roll = from.get();
            long index = from.getLong();
            long offset = from.getLong();
            return roll < 0 || roll >= ROLLS.length || index < 0 || offset < 0
                    ? Optional.empty()
                    : Optional.of(new RecordPosition(ROLLS[roll], index, offset));
        }
    }
}
