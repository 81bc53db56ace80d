package io.waybill.journal.read;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageId;
import io.waybill.host.failure.MappedFaults;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.Roll;
import io.waybill.journal.WrittenQueue;
import io.waybill.journal.format.QueueStructure;
import io.waybill.testing.core.Seeds;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Whatever becomes of a queue's files, a reader comes to an end, lives, and gives nothing that was not written. What Chronicle's tailer
 * reads may fall short without a word: the search for that is {@code verify}'s.
 */
@Timeout(value = 180, unit = TimeUnit.SECONDS)
class JournalTailFuzzTest {

    private static final int RECORDS = 1000;
    private static final int ROUNDS = 250;
    private static final long LIMIT_MS = 8000; // Chronicle's own waits are of 10 s and more
    private static final int[] LENGTHS = {-1, 0x7fffffff, 0x3fffffff, 0x80000001, 0x40000010, 0xc0000000, 1 << 20, 0};

    @TempDir
    Path temporary;

    private Path dataFile;
    private byte[] data;
    private byte[] table;

    @BeforeEach
    void write() throws IOException {
        Path worker = Files.createDirectory(temporary.resolve("written"));
        WrittenQueue.open(worker, JournalQueue.REQUESTS).requests(0, RECORDS).close();
        Path queue = JournalQueue.REQUESTS.in(worker);
        try (Stream<Path> files = Files.list(queue)) {
            dataFile = files.filter(file -> file.toString().endsWith(".cq4"))
                    .findFirst()
                    .orElseThrow();
        }
        data = Files.readAllBytes(dataFile);
        table = Files.readAllBytes(queue.resolve(QueueStructure.TABLE));
    }

    private enum Target {
        DATA,
        TABLE
    }

    private static int used(byte[] bytes) {
        int end = bytes.length;
        while (bytes[end - 1] == 0) {
            end--;
        }
        return end;
    }

    /** A copy of the bytes with one thing wrong. */
    private static byte[] mutate(byte[] bytes, Random random) {
        byte[] copy = bytes.clone();
        int used = used(bytes);
        int at = used - 1 - (int) (random.nextDouble() * random.nextDouble() * used); // rather among the records
        switch (random.nextInt(6)) {
            case 0:
                copy[at] ^= (byte) (1 << random.nextInt(8));
                return copy;
            case 1:
                byte[] noise = new byte[16];
                random.nextBytes(noise);
                System.arraycopy(noise, 0, copy, at, Math.min(noise.length, copy.length - at));
                return copy;
            case 2:
                ByteBuffer.wrap(copy)
                        .order(ByteOrder.LITTLE_ENDIAN)
                        .putInt(at & ~3, LENGTHS[random.nextInt(LENGTHS.length)]);
                return copy;
            case 3:
                Arrays.fill(copy, at & ~511, (at & ~511) + (random.nextBoolean() ? 512 : 4096), (byte) 0);
                return copy;
            case 4:
                return Arrays.copyOf(copy, at);
            default:
                System.arraycopy(bytes, random.nextInt(used) & ~511, copy, at & ~511, 512);
                return copy;
        }
    }

    private Path directory(byte[] withData, byte[] withTable, long number) throws IOException {
        Path directory = Files.createDirectory(temporary.resolve("q" + number));
        Files.write(directory.resolve(dataFile.getFileName()), withData);
        Files.write(directory.resolve(QueueStructure.TABLE), withTable);
        return directory;
    }

    /** Reads all that there is. Returns what is wrong with it; empty text when nothing is. */
    private static String readTail(Path directory) {
        MessageBuffer buffer = new MessageBuffer();
        try (JournalTail tail = JournalTail.open(directory, WrittenQueue.settings())) {
            int ends = 0;
            for (int polls = 0; polls < 4 * RECORDS && ends < 3; polls++) {
                Poll poll = tail.poll(buffer, JournalTail.ANY_RECEIVER);
                if (poll == Poll.RECORD) {
                    String wrong = wrongWith(new RecordView(buffer));
                    if (!wrong.isEmpty()) {
                        return wrong;
                    }
                }
                ends += poll == Poll.NONE ? 1 : 0;
            }
            return "";
        } catch (RuntimeException e) {
            return ""; // a refusal
        } catch (InternalError e) { // JDK 17 may tell of a fault in the file only after the poll that met it
            return MappedFaults.is(e) ? "" : e.toString();
        }
    }

    private static String wrongWith(RecordView record) {
        long counter = MessageId.counter(record.id());
        if (MessageId.worker(record.id()) != WrittenQueue.WORKER || counter >= RECORDS) {
            return "an id that nobody wrote: " + MessageId.text(record.id());
        }
        if (!Arrays.equals(record.copyPayload(), WrittenQueue.payloadOf(record.id()))) {
            return "another payload than was written: " + MessageId.text(record.id());
        }
        return "";
    }

    private static String readQueue(Path directory) {
        try (QueueReader reader = QueueReader.open(directory, WrittenQueue.HOST.files(), WrittenQueue.settings())) {
            int steps = 0;
            QueueReader.Step step = reader.next();
            while (step != QueueReader.Step.END || reader.searchBehindEnd() == QueueReader.Step.DAMAGED) {
                String wrong = step == QueueReader.Step.RECORD ? wrongWith(reader.record()) : "";
                if (!wrong.isEmpty() || ++steps > 4 * RECORDS) {
                    return wrong + " after " + steps + " steps";
                }
                step = reader.next();
            }
            return "";
        } catch (IOException e) {
            return e.toString();
        }
    }

    @ParameterizedTest
    @EnumSource
    void aTailEndsAndReturnsOnlyWhatWasWritten(Target target) throws Exception {
        for (long seed : Seeds.count(0, ROUNDS).toArray()) {
            Random random = new Random(seed * 7919L + target.ordinal());
            random.nextLong();
            Path directory = directory(
                    target == Target.DATA ? mutate(data, random) : data,
                    target == Target.TABLE ? mutate(table, random) : table,
                    seed);
            AtomicReference<String> wrong = new AtomicReference<>("it hangs");
            Thread reader = new Thread(() -> wrong.set(readTail(directory)), "fuzz-" + seed);
            reader.setDaemon(true);
            reader.start();
            reader.join(LIMIT_MS);
            assertThat(wrong.get()).as(Seeds.option(seed) + " of " + target).isEmpty();
        }
    }

    @Test
    void aQueueReaderEndsAndReturnsOnlyWhatWasWritten() throws IOException {
        for (long seed : Seeds.count(0, ROUNDS).toArray()) {
            Random random = new Random(seed * 104_729L);
            random.nextLong();
            Path directory = directory(mutate(data, random), table, seed);
            assertThat(readQueue(directory)).as(Seeds.option(seed)).isEmpty();
        }
    }

    @ParameterizedTest
    @EnumSource
    void findsNothingWrongWithWholeFiles(Roll roll) throws IOException {
        Path directory = temporary.resolve("whole");
        JournalSettings settings = WrittenQueue.settings().withRoll(roll);
        for (int run = 0; run < 2; run++) {
            try (WrittenQueue queue = WrittenQueue.open(directory, settings)) {
                assertThat(QueueStructure.problem(directory)).isEmpty();
                queue.requests(run * 1000, run * 1000 + 1000);
                assertThat(QueueStructure.problem(directory)).isEmpty();
            }
            assertThat(QueueStructure.problem(directory)).isEmpty();
        }
    }
}
