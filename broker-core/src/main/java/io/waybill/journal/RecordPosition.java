package io.waybill.journal;

/**
 * Where a record lies in its queue. Immutable.
 *
 * @param roll the roll cycle by which its file is named and its index is built
 * @param index of the record in its queue, which a tail can move to
 * @param offset in its file, of the four bytes in front of it
 */
public record RecordPosition(Roll roll, long index, long offset) {

    /** The number of the file. */
    public int cycle() {
        return roll.cycleOf(index);
    }

    /** The name of the file. */
    public String fileName() {
        return roll.fileName(cycle());
    }

    /** Such as {@code 20261120-0812.cq4:65808 (index 0x79be000000000)}. */
    @Override
    public String toString() {
        return fileName() + ":" + offset + " (index 0x" + Long.toHexString(index) + ")";
    }
}
