package io.waybill.journal;

/**
 * Position of a record in its queue. Immutable.
 *
 * @param roll roll cycle of its file's name and its index
 * @param index index of the record in its queue, to which a tail can be moved
 * @param offset position in its file, of the four bytes before it
 */
public record RecordPosition(Roll roll, long index, long offset) {

    /** Returns the number of the file. */
    public int cycle() {
        return roll.cycleOf(index);
    }

    /** Returns the name of the file. */
    public String fileName() {
        return roll.fileName(cycle());
    }

    /** Formats the position, such as {@code 20261120-0812.cq4:65808 (index 0x79be000000000)}. */
    @Override
    public String toString() {
        return fileName() + ":" + offset + " (index 0x" + Long.toHexString(index) + ")";
    }
}
