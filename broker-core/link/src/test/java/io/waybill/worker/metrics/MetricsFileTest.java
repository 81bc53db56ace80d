package io.waybill.worker.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.WorkerInfo;
import io.waybill.api.metrics.LatencyHistogram;
import io.waybill.api.metrics.OperationMetrics;
import io.waybill.api.metrics.WorkerMetrics;
import io.waybill.home.error.HomeException;
import io.waybill.home.error.MalformedHomeFileException;
import io.waybill.host.Host;
import io.waybill.testing.core.Seeds;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A file of figures reads as it was written, and a damaged one is an error that names the file and the byte. */
@Timeout(120)
class MetricsFileTest {

    private static final WorkerInfo WORKER = new WorkerInfo(7, "ps0");
    private static final long[] COUNTS = new long[LatencyHistogram.BUCKETS];

    static {
        COUNTS[0] = 1;
        COUNTS[40] = 5;
        COUNTS[LatencyHistogram.BUCKETS - 1] = 2;
    }

    private static final OperationMetrics CALLED = new OperationMetrics(
            MessageType.NAMED_CALL,
            "text.übung",
            "caller",
            8,
            Map.of(ErrorCode.TIMED_OUT, 2L, ErrorCode.REFUSED, 1L),
            800,
            1600,
            3,
            0,
            LatencyHistogram.of(COUNTS, 123_456, 99_999));
    private static final OperationMetrics SERVED = new OperationMetrics(
            MessageType.RREF_USER_DELETE, "", "ps1", 0, Map.of(), 0, 0, 1, 4, LatencyHistogram.EMPTY);
    private static final WorkerFigures FIGURES = new WorkerFigures(
            new WorkerMetrics(
                    WORKER,
                    3,
                    4711,
                    1_000,
                    2_000,
                    List.of(SERVED, CALLED),
                    List.of(CALLED),
                    Map.of("links", 2L, "a/b", -1L)),
            Map.of(2, 17L));

    private final Host host = Host.real();

    @TempDir
    private Path directory;

    private Path file;

    @BeforeEach
    void write() throws IOException {
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwx------"));
        file = directory.resolve(MetricsFile.NAME);
        new MetricsFile(directory, host.files()).write(FIGURES);
    }

    private WorkerFigures read() throws IOException {
        return MetricsFile.read(WORKER, directory, host.files()).orElseThrow();
    }

    /** Writes other bytes, with a checksum that fits. */
    private void put(byte[] bytes) throws IOException {
        CRC32C checksum = new CRC32C();
        checksum.update(bytes, 4, bytes.length - 4);
        ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).putInt(0, (int) checksum.getValue());
        Files.write(file, bytes);
    }

    private void putInt(int at, int value) throws IOException {
        byte[] bytes = Files.readAllBytes(file);
        ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).putInt(at, value);
        put(bytes);
    }

    private void requireMalformed(String... texts) {
        assertThatThrownBy(this::read)
                .isInstanceOf(MalformedHomeFileException.class)
                .hasMessageContaining(file.toString())
                .hasMessageContainingAll(texts);
    }

    @Test
    void readsWhatWasWritten() throws IOException {
        assertThat(read()).isEqualTo(FIGURES);
        Files.delete(file);
        assertThat(MetricsFile.read(WORKER, directory, host.files())).isEmpty();
    }

    @Test
    void namesWhatIsWrongWithTheHeader() throws IOException {
        putInt(4, 0);
        requireMalformed("the mark of a metrics file 0x54454d57", "found 0x0", "at byte 4");
        write();
        putInt(8, 2);
        requireMalformed("version 0x1", "found 0x2", "at byte 8");
        write();
        putInt(16, 8);
        requireMalformed("worker id 0x7", "found 0x8", "at byte 16");
        write();
        putInt(28, 1 << 20);
        requireMalformed("a number of served operations that fit", "found 1048576", "at byte 28");
        write();
        putInt(20, -1);
        requireMalformed("a number of values that fit", "found -1", "at byte 20");
        Files.write(file, new byte[71]);
        requireMalformed("72 bytes at least", "found 71");
    }

    @Test
    void findsEachDamagedByte() throws IOException {
        byte[] whole = Files.readAllBytes(file);
        for (int at = 0; at < whole.length; at++) {
            byte[] damaged = whole.clone();
            damaged[at] ^= 1;
            Files.write(file, damaged);
            requireMalformed("at byte");
        }
    }

    @Test
    void findsEachPlaceWhereItIsCut() throws IOException {
        byte[] whole = Files.readAllBytes(file);
        for (int length = 0; length < whole.length; length++) {
            byte[] cut = Arrays.copyOf(whole, length);
            Files.write(file, cut);
            requireMalformed("at byte");
            if (length >= MetricsFile.HEADER_BYTES) { // with a length and a checksum that fit
                ByteBuffer.wrap(cut).order(ByteOrder.LITTLE_ENDIAN).putInt(MetricsFile.LENGTH_AT, length);
                put(cut);
                requireMalformed("at byte");
            }
        }
        byte[] longer = Arrays.copyOf(whole, whole.length + 3);
        ByteBuffer.wrap(longer).order(ByteOrder.LITTLE_ENDIAN).putInt(MetricsFile.LENGTH_AT, longer.length);
        put(longer);
        requireMalformed("expected the end", "3 bytes more", "at byte " + whole.length);
    }

    @Test
    void failsOnlyInOneWayWhateverTheBytesAre() throws IOException {
        byte[] whole = Files.readAllBytes(file);
        Random random = Seeds.random();
        for (int round = 0; round < 3_000; round++) {
            byte[] damaged = whole.clone();
            for (int i = 0; i <= random.nextInt(3); i++) {
                damaged[16 + random.nextInt(damaged.length - 16)] = (byte) random.nextInt();
            }
            put(damaged);
            try {
                read();
            } catch (HomeException e) {
                assertThat(e).hasMessageContaining(file.toString());
            }
        }
    }

    @Test
    void isNotReadThroughALink() throws IOException {
        Path elsewhere = directory.resolve("elsewhere");
        Files.move(file, elsewhere);
        Files.createSymbolicLink(file, elsewhere);
        assertThatThrownBy(this::read).isInstanceOf(IOException.class).hasMessageContaining(MetricsFile.NAME);
    }
}
