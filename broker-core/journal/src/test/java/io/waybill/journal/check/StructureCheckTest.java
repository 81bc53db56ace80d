package io.waybill.journal.check;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.host.Clock;
import io.waybill.journal.Damage;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.Roll;
import io.waybill.journal.WrittenQueue;
import io.waybill.journal.format.ChronicleDocuments;
import io.waybill.journal.format.Frame;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(value = 60, unit = TimeUnit.SECONDS)
class StructureCheckTest {

    @TempDir
    Path directory;

    private final List<String> damages = new ArrayList<>();
    private final List<String> notes = new ArrayList<>();

    private void check() throws IOException {
        damages.clear();
        notes.clear();
        StructureCheck.check(directory, WrittenQueue.HOST.files(), new StructureFindings() {
            @Override
            public void damaged(Damage damage) {
                damages.add(damage.toString());
            }

            @Override
            public void noted(Damage damage) {
                notes.add(damage.toString());
            }
        });
    }

    private Path file() throws IOException {
        try (var files = Files.list(directory)) {
            return files.filter(path -> path.toString().endsWith(".cq4"))
                    .sorted()
                    .findFirst()
                    .orElseThrow();
        }
    }

    private long number(long at) throws IOException {
        ByteBuffer number = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        try (FileChannel channel = FileChannel.open(file())) {
            channel.read(number, at);
        }
        return number.getLong(0);
    }

    private void number(long at, long value) throws IOException {
        ByteBuffer number = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        try (FileChannel channel = FileChannel.open(file(), StandardOpenOption.WRITE)) {
            channel.write(number.putLong(0, value), at);
        }
    }

    @ParameterizedTest
    @EnumSource
    void findsNothingInWhatAWriterLeaves(Roll roll) throws IOException {
        JournalSettings settings = WrittenQueue.settings().withRoll(roll);
        for (int records : new int[] {0, 1, 2, 127, 128, 129, 255, 256, 257, 3000}) {
            try (WrittenQueue queue = WrittenQueue.open(directory, settings)) {
                check();
                assertThat(damages).isEmpty();
                assertThat(notes).isEmpty();
                queue.requests(0, records);
                check();
                assertThat(damages).as("after " + records).isEmpty();
                assertThat(notes)
                        .filteredOn(note -> !note.contains("lock is held"))
                        .isEmpty();
            }
            check();
            assertThat(damages).isEmpty();
            assertThat(notes).isEmpty();
        }
    }

    /** The smallest cycle has a list of 2048 numbers for every 256th record. */
    @Test
    void knowsWhereTheNextListBegins() throws IOException {
        JournalSettings settings = new JournalSettings(Roll.FIVE_MINUTELY, 64 << 20, 64 << 10, 1 << 20);
        long now = WrittenQueue.HOST.clock().wallNs();
        try (WrittenQueue queue = WrittenQueue.openAt(directory, settings, now)) {
            queue.requests(0, 2048 * 256 - 1);
            for (int more = 0; more < 4; more++) {
                check();
                assertThat(damages).isEmpty();
                queue.requests(2048 * 256 - 1 + more, 2048 * 256 + more);
            }
        }
        check();
        assertThat(damages).isEmpty();
        assertThat(notes).isEmpty();
    }

    @Test
    void findsNothingAcrossFiles() throws IOException {
        Clock now = WrittenQueue.HOST.clock();
        for (int day = 0; day < 3; day++) {
            long atNs = now.wallNs() + TimeUnit.DAYS.toNanos(day);
            try (WrittenQueue queue = WrittenQueue.openAt(directory, WrittenQueue.settings(), atNs)) {
                queue.requests(day * 300, day * 300 + 300);
            }
            check();
            assertThat(damages).isEmpty();
            assertThat(notes).isEmpty();
        }
    }

    @Test
    void findsNothingWhileTheWriterGoesOn() throws Exception {
        try (WrittenQueue queue = WrittenQueue.open(directory, WrittenQueue.settings())) {
            queue.requests(0, 1);
            Thread writer = new Thread(() -> queue.requests(1, 100_000), "writer");
            writer.start();
            try {
                while (writer.isAlive()) {
                    check();
                    assertThat(damages).isEmpty();
                }
            } finally {
                writer.join();
            }
        }
        check();
        assertThat(damages).isEmpty();
        assertThat(notes).isEmpty();
    }

    private ChronicleDocuments own() {
        return ChronicleDocuments.of(Roll.DAILY);
    }

    private void write(int records) {
        WrittenQueue.open(directory, WrittenQueue.settings())
                .requests(0, records)
                .close();
    }

    @Test
    void findsThatTheLastRecordIsGone() throws IOException {
        write(10);
        long last = number(own().writePositionAt());
        number(last, number(last) | 1L << 31);
        check();
        assertThat(damages).singleElement().asString().contains("the last record begins at " + last);
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 1L << 20, 1L << 40, 1L << 62})
    void findsAnEntryOfAnIndexThatPointsElsewhere(long change) throws IOException {
        write(300);
        long entry = own().rootPosition()
                + own().listBytes(own().listStart(ChronicleDocuments.ROOT, own().rootPosition()))
                + own().listStart(ChronicleDocuments.INDEX, own().rootPosition()).length
                + Long.BYTES;
        assertThat(number(entry)).isPositive();
        for (long at = entry; at < entry + 5 * Long.BYTES; at += Long.BYTES) {
            long before = number(at);
            number(at, before ^ change);
            check();
            assertThat(damages).first().asString().contains("an entry of the queue's own index");
            number(at, before);
        }
        number(entry, 0);
        check();
        assertThat(damages).isEmpty();
        assertThat(notes).singleElement().asString().contains("1 entries of the queue's own index are missing");
    }

    @Test
    void notesWhatLiesBehindTheEndAndIsNoObstacle() throws IOException {
        write(10);
        number(Files.size(file()) - Long.BYTES, 1L << 60);
        check();
        assertThat(damages).isEmpty();
        assertThat(notes).singleElement().asString().contains("left bytes behind the last record");
        WrittenQueue.open(directory, WrittenQueue.settings()).requests(10, 20).close();
        check();
        assertThat(damages).isEmpty();
    }

    /** Writes two files. Returns where the older one ends. */
    private long endOfOlderFile() throws IOException {
        Clock now = WrittenQueue.HOST.clock();
        for (int day = 0; day < 2; day++) {
            WrittenQueue.openAt(directory, WrittenQueue.settings(), now.wallNs() + TimeUnit.DAYS.toNanos(day))
                    .requests(day * 10, day * 10 + 10)
                    .close();
        }
        long end = number(own().writePositionAt());
        while ((int) number(end) != Frame.END) {
            end = Frame.behind(end, Frame.bytes((int) number(end)));
        }
        return end;
    }

    @Test
    void findsAMissingMarkAtTheEndOfAnOlderFile() throws IOException {
        number(endOfOlderFile(), 0);
        check();
        assertThat(damages).singleElement().asString().contains("there is no mark at the file's end");
    }

    @Test
    void notesAMarkThatItsWriterDidNotFinish() throws IOException {
        number(endOfOlderFile(), Frame.END & 0xffff_ffffL);
        check();
        assertThat(damages).isEmpty();
        assertThat(notes).singleElement().asString().contains("was not finished");
    }

    @Test
    void findsAnotherMark() throws IOException {
        long end = endOfOlderFile();
        number(end, number(end) ^ 1L << 40);
        check();
        assertThat(damages).singleElement().asString().contains("is not what belongs there");
    }

    @Test
    void notesARecordThatWasNotFinished() throws IOException {
        write(10);
        long end = number(own().writePositionAt());
        end = Frame.behind(end, Frame.bytes((int) number(end)));
        number(end, 0x80000000L);
        check();
        assertThat(damages).isEmpty();
        assertThat(notes).singleElement().asString().contains("begun here and not finished");
    }
}
