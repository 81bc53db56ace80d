package io.waybill.query.verify;

import io.waybill.journal.RecordPosition;
import io.waybill.journal.Roll;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Where a queue ends. Immutable.
 *
 * @param last its last record; empty when it has none
 * @param newest the number of its newest file that was begun; empty when it has none
 * @param roll of its home
 */
record QueueEnd(Optional<RecordPosition> last, OptionalInt newest, Roll roll) {

    /**
     * Whether a reader at this position has read what is not there. The start of a file may not be written yet, and a place
     * in a file behind which newer ones were begun is passed by: after a power cut its worker goes on so.
     */
    boolean isBehind(long position) {
        if (position <= 0 || last.isPresent() && position <= last.get().index() + 1) {
            return false;
        }
        Roll own = last.map(RecordPosition::roll).orElse(roll);
        return own.sequenceInFile(position) > 0 && (newest.isEmpty() || own.cycleOf(position) >= newest.getAsInt());
    }

    /** The file in which it ends; the directory when there is none. */
    Path file(Path directory) {
        return newest.isPresent()
                ? directory.resolve(last.map(RecordPosition::roll).orElse(roll).fileName(newest.getAsInt()))
                : directory;
    }

    @Override
    public String toString() {
        return last.map(location -> "its last record is at " + location).orElse("there is no record");
    }
}
