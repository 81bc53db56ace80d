package io.waybill.journal.read;

/**
 * Counter of the records of one file, which restores the count after records that can't be read.
 *
 * <p><b>Threads.</b> Belongs to its reader.
 */
final class SequenceCount {

    private static final long UNKNOWN = Long.MIN_VALUE;

    private long inFile;
    private long ofFirst = UNKNOWN;
    private boolean lost;

    /** Sets the number of the next record in its file. */
    void startAt(long sequenceInFile) {
        inFile = sequenceInFile;
        ofFirst = UNKNOWN;
        lost = false;
    }

    /** Counts one record that could not be read, according to its frame. */
    void skippedOne() {
        inFile++;
        lost = true;
    }

    /** Notes that an unknown number of records could not be read. */
    void skippedSome() {
        lost = true;
    }

    /**
     * Returns the number of the next record in its file: by counting, or by its own sequence when records were skipped.
     */
    long next(long sequence) {
        if (lost && ofFirst != UNKNOWN) {
            inFile = sequence - ofFirst;
        }
        ofFirst = sequence - inFile;
        lost = false;
        return inFile++;
    }
}
