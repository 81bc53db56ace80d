package io.waybill.salvage;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.waybill.home.Home;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.WrittenQueue;
import io.waybill.journal.format.QueueStructure;
import io.waybill.journal.read.JournalTail;
import io.waybill.journal.read.Poll;
import io.waybill.journal.read.QueueReader;
import io.waybill.journal.read.QueueReader.Step;
import io.waybill.query.HomeJournals;
import io.waybill.query.verify.Finding;
import io.waybill.salvage.DamagedFile.Change;
import io.waybill.testing.core.Seeds;
import io.waybill.wire.MessageBuffer;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * One record of each type, and every bit of its queue's files flipped, every length they can be cut to, every 512 bytes zeroed and
 * swapped: {@code verify} tells, or all records read back the same and a writer goes on; what was not touched is read; nothing takes
 * more memory than the file has bytes. Each sector and a sample of the rest in each build; everything with {@code -Dwaybill.flip=all},
 * of which {@code -Dwaybill.flip.part=1/4} is every fourth way, from the second on.
 */
@Timeout(value = 8, unit = TimeUnit.HOURS)
class FlipTest {

    private static final boolean ALL = "all".equals(System.getProperty("waybill.flip"));
    private static final String[] PART =
            System.getProperty("waybill.flip.part", "0/1").split("/");
    private static final long SAMPLE = 150;
    private static final long REPORTED_EACH = 10_000;
    private static final long SALVAGED = 2;
    private static final int LAYOUTS = 3;
    private static final long SLACK_BYTES = 2 << 20;
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    @TempDir
    Path temporary;

    private EveryType written;
    private Home home;

    @BeforeEach
    void write() throws IOException {
        written = new EveryType(temporary.resolve("home"));
        home = written.home();
    }

    /** What a look at a home found. */
    private record Look(boolean isDamaged, Set<String> findings, long allocatedBytes) {}

    private Look look() throws IOException {
        Set<String> findings = new HashSet<>();
        boolean[] damaged = new boolean[1];
        long before = THREADS.getCurrentThreadAllocatedBytes();
        try (HomeJournals journals = HomeJournals.open(home)) {
            journals.verify(finding -> {
                damaged[0] |= finding.isDamage();
                findings.add(
                        finding.kind() + " " + finding.severity() + " " + position(finding) + " " + finding.text());
            });
        }
        return new Look(damaged[0], findings, THREADS.getCurrentThreadAllocatedBytes() - before);
    }

    private static String position(Finding finding) {
        return finding.worker().map(Object::toString).orElse("")
                + finding.file().map(Path::getFileName).orElse(null);
    }

    private static Map<Long, byte[]> read(Path queue) throws IOException {
        Map<Long, byte[]> records = new TreeMap<>();
        try (QueueReader reader = QueueReader.open(queue, WrittenQueue.HOST.files(), WrittenQueue.settings())) {
            Step step = reader.next();
            while (step != Step.END || reader.searchBehindEnd() == Step.DAMAGED) {
                if (step == Step.RECORD) {
                    records.put(
                            reader.record().sequence(), bytes(reader.record().buffer()));
                }
                step = reader.next();
            }
        }
        return records;
    }

    private static byte[] bytes(MessageBuffer record) {
        byte[] bytes = new byte[record.length()];
        record.memory().getBytes(0, bytes);
        return bytes;
    }

    private void assertSame(Map<Long, byte[]> expected, Map<Long, byte[]> found, String as) {
        assertThat(found.keySet()).as(as).containsAll(expected.keySet());
        expected.forEach((sequence, bytes) ->
                assertThat(found.get(sequence)).as(as + ", record " + sequence).isEqualTo(bytes));
    }

    /** Reads as a peer does, and goes on as the owner does, in a copy. */
    private void assertWithoutEffect(Path queue, Map<Long, byte[]> records, String as) throws IOException {
        assertSame(records, read(queue), as);
        Path copy = Files.createDirectory(temporary.resolve("copy"));
        try (var files = Files.list(queue)) {
            for (Path file : files.toList()) {
                Files.copy(file, copy.resolve(file.getFileName()));
            }
        }
        assertSame(records, tail(copy), as + ", by a tail");
        try (WrittenQueue writer = WrittenQueue.open(copy, EveryType.settings())) {
            writer.requests(1000, 1003);
        }
        Map<Long, byte[]> after = tail(copy);
        assertSame(records, after, as + ", after the writer went on");
        assertThat(after).as(as).hasSize(records.size() + 3);
        try (var files = Files.list(copy)) {
            for (Path file : files.toList()) {
                Files.delete(file);
            }
        }
        Files.delete(copy);
    }

    private static Map<Long, byte[]> tail(Path queue) {
        Map<Long, byte[]> records = new TreeMap<>();
        MessageBuffer buffer = new MessageBuffer();
        try (JournalTail tail = JournalTail.open(queue, EveryType.settings())) {
            Poll poll = tail.poll(buffer, JournalTail.ANY_RECEIVER);
            while (poll == Poll.RECORD) {
                byte[] bytes = bytes(buffer);
                records.put((long) records.size(), bytes);
                poll = tail.poll(buffer, JournalTail.ANY_RECEIVER);
            }
        }
        return records;
    }

    private void enumerate(Path target, Path queue) throws IOException {
        Map<Long, byte[]> records = read(queue);
        Look whole = look();
        assertThat(whole.isDamaged()).as(whole.findings().toString()).isFalse();
        DamagedFile file = new DamagedFile(target, EveryType.positions(queue));
        long seed = Seeds.fresh();
        Random random = new Random(seed);
        long step = ALL ? Long.parseLong(PART[1]) : Math.max(1, file.sectorChanges() / SAMPLE);
        Map<String, Long> verdicts = new HashMap<>();
        long judged = 0;
        long first = ALL ? Long.parseLong(PART[0]) : random.nextLong(step);
        for (long number = first; number < file.changes(); number = next(file, number, step)) {
            Change change = file.change(number);
            String as = target.getFileName() + " " + change + " of seed " + seed;
            file.apply(change);
            String verdict = judge(queue, records, file, change, whole, as);
            verdicts.merge(verdict, 1L, Long::sum);
            file.restore();
            if (++judged % REPORTED_EACH == 0) {
                report(target, judged, file, verdicts);
            }
        }
        report(target, judged, file, verdicts);
        assertThat(look().findings()).isEqualTo(whole.findings());
    }

    /** Of whole sectors every one, of the rest a sample. */
    private static long next(DamagedFile file, long number, long step) {
        if (ALL) {
            return number + step;
        }
        return number < file.sectorChanges() ? Math.min(number + step, file.sectorChanges()) : number + 1;
    }

    private static void report(Path target, long judged, DamagedFile file, Map<String, Long> verdicts) {
        System.out.println("flip " + target.getParent().getFileName() + "/" + target.getFileName() + ": " + judged
                + " of " + file.changes() + " ways, by verdict " + verdicts);
    }

    private String judge(Path queue, Map<Long, byte[]> records, DamagedFile file, Change change, Look whole, String as)
            throws IOException {
        Look look = look();
        assertThat(look.allocatedBytes()).as(as).isLessThan(whole.allocatedBytes() + file.sizeBytes() + SLACK_BYTES);
        Map<Long, byte[]> untouched = new TreeMap<>(records);
        untouched.keySet().removeAll(file.touched(change));
        assertSame(untouched, read(queue), as);
        if (look.isDamaged()) {
            return "damage";
        }
        if (!look.findings().equals(whole.findings())) {
            return "note";
        }
        assertWithoutEffect(queue, records, as);
        return "no effect";
    }

    @ParameterizedTest
    @EnumSource
    void reportsWhateverHappensToAQueuesFileOrItHasNoEffect(JournalQueue queue) throws IOException {
        Path directory = written.queue(queue);
        enumerate(EveryType.file(directory), directory);
    }

    @ParameterizedTest
    @EnumSource
    void reportsWhateverHappensToAQueuesTableOrItHasNoEffect(JournalQueue queue) throws IOException {
        Path directory = written.queue(queue);
        enumerate(directory.resolve(QueueStructure.TABLE), directory);
    }

    /** A frame in the wrong place has a length that leads somewhere: into the zeros of another record, or behind several. */
    @ParameterizedTest
    @EnumSource
    void readsEveryRecordBetweenSwappedSectors(JournalQueue queue) throws IOException {
        for (int home = 0; home < LAYOUTS; home++) {
            long seed = Seeds.fresh();
            Random random = new Random(seed);
            EveryType layout =
                    new EveryType(temporary.resolve("layout-" + home), number -> 8 + 4 * random.nextInt(100));
            Path directory = layout.queue(queue);
            Map<Long, byte[]> records = read(directory);
            DamagedFile file = new DamagedFile(EveryType.file(directory), EveryType.positions(directory));
            for (long number = file.sectorChanges(); number < file.changes(); number++) {
                Change change = file.change(number);
                file.apply(change);
                Map<Long, byte[]> untouched = new TreeMap<>(records);
                untouched.keySet().removeAll(file.touched(change));
                Map<Long, byte[]> found = read(directory);
                assertSame(untouched, found, change + " of seed " + seed);
                assertSame(found, records, "nothing else, with " + change + " of seed " + seed);
                file.restore();
            }
        }
    }

    @Test
    void salvagesEveryRecordThatWasNotTouched() throws IOException {
        for (JournalQueue queue : JournalQueue.values()) {
            Path directory = written.queue(queue);
            Map<Long, byte[]> records = read(directory);
            DamagedFile file = new DamagedFile(EveryType.file(directory), EveryType.positions(directory));
            long seed = Seeds.fresh();
            Random random = new Random(seed);
            for (int i = 0; i < SALVAGED; i++) {
                Change change = file.change(random.nextLong(file.changes()));
                Path out = temporary.resolve("out-" + queue + i);
                file.apply(change);
                new Salvage(home, out, read -> {}).run(Optional.empty());
                Map<Long, byte[]> untouched = new TreeMap<>(records);
                untouched.keySet().removeAll(file.touched(change));
                Path salvaged = out.resolve(home.path().relativize(directory));
                assertSame(untouched, read(salvaged), change + " of seed " + seed);
                file.restore();
            }
        }
    }
}
