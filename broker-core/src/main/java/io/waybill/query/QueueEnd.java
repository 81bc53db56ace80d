package io.waybill.query;

import io.waybill.journal.RecordPlace;
import java.util.Optional;

/**
 * Where a queue ends. Immutable.
 *
 * @param last its last record; empty when it has none
 */
record QueueEnd(Optional<RecordPlace> last) {

    /** Whether somebody who has read up to this position has read what is not there. The start of a file may not be written yet. */
    boolean isBehind(long position) {
        if (last.isEmpty() || position <= last.get().index() + 1) {
            return false;
        }
        return last.get().roll().sequenceInFile(position) > 0;
    }

    @Override
    public String toString() {
        return last.map(place -> "its last record is at " + place).orElse("there is no record");
    }
}
