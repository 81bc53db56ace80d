package io.waybill.journal.read;

import io.waybill.api.MessageId;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.format.Frame;
import io.waybill.wire.MalformedRecordException;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;

/**
 * Last complete record of a queue, after which its writer continues.
 *
 * @param sequence sequence of the record; -1 when there is none
 * @param id id of its message, or a greater one of the records before it when it repeats an earlier message;
 * {@link MessageId#NONE} when there is none
 * @param index index of the record; -1 when there is none
 * @param cycle number of the queue's newest file; {@link Integer#MIN_VALUE} when there is none
 * @param endPosition position after the record in that file; 0 when it has none
 */
public record LastRecord(long sequence, long id, long index, int cycle, long endPosition) {

    private static final LastRecord NONE = new LastRecord(-1, MessageId.NONE, -1, Integer.MIN_VALUE, 0);

    /** Returns whether a record is in a file, by reading the file and not its mapping. */
    public static boolean isWhole(Path file, long start, int length, long sequence) {
        try {
            return read(file, start, length, sequence);
        } catch (IOException e) {
            return false;
        }
    }

    /** Reads a record like {@link #isWhole}, and throws when the file can't be read. */
    public static boolean read(Path file, long start, int length, long sequence) throws IOException {
        byte[] bytes = bytes(file, start, length);
        return isRecord(bytes, 0, sequence);
    }

    /**
     * Returns whether readers find a record: it is whole, and its frame is finished. Also true when the file can't be
     * read, so that this is unknown.
     */
    public static boolean mayBeRead(Path file, long start, int length, long sequence) {
        byte[] bytes;
        try {
            bytes = bytes(file, start - Frame.LENGTH, Frame.LENGTH + length);
        } catch (IOException e) {
            return true;
        }
        if (bytes.length == 0) {
            return false;
        }
        int frame = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).getInt();
        boolean isFinished = !Frame.isOpen(frame) && !Frame.isMeta(frame) && Frame.bytes(frame) == length;
        return isFinished && isRecord(bytes, Frame.LENGTH, sequence);
    }

    /** Returns bytes of a file; none when it ends before them. */
    private static byte[] bytes(Path file, long start, int length) throws IOException {
        try (InputStream in = Files.newInputStream(file, LinkOption.NOFOLLOW_LINKS)) { // no interrupt closes a stream
            in.skipNBytes(start);
            byte[] bytes = in.readNBytes(length);
            return bytes.length < length ? new byte[0] : bytes;
        } catch (EOFException e) {
            return new byte[0];
        }
    }

    private static boolean isRecord(byte[] bytes, int at, long sequence) {
        int length = bytes.length - at;
        MessageBuffer record = new MessageBuffer();
        record.reserve(length);
        record.memory().putBytes(0, bytes, at, length);
        RecordView view = new RecordView(record);
        try {
            view.check();
            return view.sequence() == sequence;
        } catch (MalformedRecordException e) {
            return false;
        }
    }

    /** Reads backwards over all records that are not whole: at most the remains of a crash at the end. */
    public static LastRecord read(Path directory, JournalSettings settings) {
        if (!JournalTail.exists(directory)) {
            return NONE;
        }
        MessageBuffer buffer = new MessageBuffer();
        RecordView view = new RecordView(buffer);
        LastRecord last = NONE;
        try (JournalTail tail = JournalTail.openBackward(directory, settings)) {
            while (true) {
                switch (tail.poll(buffer, JournalTail.ANY_RECEIVER)) {
                    case NONE:
                        return last.inNewestOf(directory, settings);
                    case RECORD:
                        last = last == NONE
                                ? new LastRecord(
                                        view.sequence(), view.id(), tail.lastIndex(), tail.cycle(), tail.endPosition())
                                : last.withIdFrom(view.id());
                        if (!view.isRepeated()) {
                            return last.inNewestOf(directory, settings);
                        }
                        break;
                    case SKIPPED:
                    case DAMAGED:
                        break;
                }
            }
        }
    }

    /**
     * Returns this record with the queue's newest file, which may be without a record: readers may have continued to
     * it.
     */
    private LastRecord inNewestOf(Path directory, JournalSettings settings) {
        int[] cycles = TailedQueue.cyclesNewestFirst(directory, settings.roll());
        return cycles.length == 0 || cycles[0] <= cycle ? this : new LastRecord(sequence, id, index, cycles[0], 0);
    }

    /** Returns a copy with a higher sequence, when later records are known to be lost. */
    public LastRecord withSequence(long known) {
        return known <= sequence ? this : new LastRecord(known, id, index, cycle, endPosition);
    }

    private LastRecord withIdFrom(long earlier) {
        return new LastRecord(sequence, Math.max(id, earlier), index, cycle, endPosition);
    }
}
