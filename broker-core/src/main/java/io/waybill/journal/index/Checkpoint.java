package io.waybill.journal.index;

import io.waybill.journal.RecordPosition;
import io.waybill.journal.Roll;
import java.nio.ByteBuffer;
import java.util.Optional;

/**
 * The last record of a queue that is in the index, with what tells it from any other record that may lie there by now. Immutable.
 *
 * @param sequence number of the record in its queue
 * @param checksum of the record, as written in it
 */
record Checkpoint(RecordPosition place, long sequence, long id, int checksum) {

    private static final int LENGTH = PlaceCode.LENGTH + 8 + 8 + 4;

    byte[] toBytes() {
        ByteBuffer bytes = ByteBuffer.allocate(LENGTH);
        bytes.put(PlaceCode.bytes(place.roll(), place.index(), place.offset()));
        return bytes.putLong(sequence).putLong(id).putInt(checksum).array();
    }

    /** Empty when the bytes are none. */
    static Optional<Checkpoint> of(byte[] bytes) {
        if (bytes == null || bytes.length != LENGTH) {
            return Optional.empty();
        }
        ByteBuffer rest = ByteBuffer.wrap(bytes, PlaceCode.LENGTH, LENGTH - PlaceCode.LENGTH);
        return PlaceCode.place(bytes)
                .map(place -> new Checkpoint(place, rest.getLong(), rest.getLong(), rest.getInt()));
    }

    /** A place as the index keeps it: roll cycle (1 byte), index (8), offset (8), big-endian. */
    static final class PlaceCode {

        static final int LENGTH = 1 + 8 + 8;

        private static final Roll[] ROLLS = Roll.values();

        private PlaceCode() {}

        static byte[] bytes(Roll roll, long index, long offset) {
            return ByteBuffer.allocate(LENGTH)
                    .put((byte) roll.ordinal())
                    .putLong(index)
                    .putLong(offset)
                    .array();
        }

        /** Empty when the bytes, of which there may be more, are no place. */
        static Optional<RecordPosition> place(byte[] bytes) {
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
