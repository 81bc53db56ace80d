package io.waybill.query.verify;

import io.waybill.journal.RecordPosition;
import io.waybill.journal.Roll;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * End of a queue. Immutable.
 *
 * @param last its last record; empty when it has none
 * @param newest the number of its newest file that was begun; empty when it has none
 * @param roll of its home
 */
record QueueEnd(Optional<RecordPosition> last, OptionalInt newest, Roll roll) {

    /**
     * Returns whether a reader at this position has read beyond the end. Allowed are the start of a file that is not
     * written yet, and a position in a file followed by newer ones: after a power cut its worker continues in a new
     * file.
     */
    boolean isBehind(long position) {
        if (position <= 0 || last.isPresent() && position <= last.get().index() + 1) {
            return false;
        }
        Roll own = last.map(RecordPosition::roll).orElse(roll);
        return own.sequenceInFile(position) > 0 && (newest.isEmpty() || own.cycleOf(position) >= newest.getAsInt());
    }

    /** Returns the file in which the queue ends; the directory if there is none. */
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
