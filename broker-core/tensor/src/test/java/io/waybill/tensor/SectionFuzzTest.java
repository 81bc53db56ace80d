package io.waybill.tensor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.RejectedMessageException;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.testing.core.Seeds;
import io.waybill.wire.Envelope;
import io.waybill.wire.MalformedRecordException;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.Random;
import java.util.stream.LongStream;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Sections that lie, behind a checksum that is right. */
@Timeout(120)
class SectionFuzzTest {

    private static final long[] TELLING = {
        0,
        1,
        -1,
        63,
        64,
        65,
        1024,
        1025,
        32768,
        32769,
        4096,
        65535,
        65536,
        1 << 30,
        Integer.MAX_VALUE,
        Integer.MIN_VALUE,
        Long.MAX_VALUE,
        Long.MIN_VALUE,
        Long.MAX_VALUE - 63,
        1L << 40,
        1L << 62
    };

    @TempDir
    Path directory;

    @RegisterExtension
    final NoLeaks leaks = new NoLeaks();

    private Transit transit;
    private MessageBuffer record;
    private byte[] original;
    private int start;

    static LongStream seeds() {
        return Seeds.each(1, 2, 3, 4);
    }

    @BeforeEach
    void open() {
        transit = new Transit(directory, leaks);
        HostStorage small = transit.filled(600);
        HostStorage large = transit.filled(100_000);
        HostStorage none = transit.filled(0);
        record = transit.send(
                Transit.floats(small, 3, 5, 7),
                Tensor.contiguous(DType.INT16, new long[] {2, 5, 5000}, large),
                Tensor.contiguous(DType.BOOL, new long[] {0}, none),
                new Tensor(DType.UINT8, new long[0], new long[0], 599, true, small));
        small.release();
        large.release();
        none.release();
        original = new byte[record.length()];
        record.memory().getBytes(0, original);
        start = new RecordView(record).sectionOffset();
    }

    @AfterEach
    void close() {
        transit.close();
    }

    /** Decodes what is in the record, which may be anything; says whether it was taken. */
    private boolean survives(String what) throws MalformedRecordException {
        record.seal(0);
        RecordView view = new RecordView(record);
        view.check();
        try {
            ReceivedTensors received = transit.receiver.decode(view, transit.peer);
            for (Tensor tensor : received.tensors()) {
                touch(tensor, what);
            }
            received.release();
            return true;
        } catch (MalformedRecordException | RejectedMessageException e) {
            assertThat(e.getMessage()).as(what).isNotBlank();
            return false;
        }
    }

    private static void touch(Tensor tensor, String what) {
        Storage storage = tensor.storage();
        assertThat(storage.sizeBytes()).as(what).isNotNegative();
        if (storage.sizeBytes() > 0) {
            storage.bytes(0, 1).get(0);
            storage.bytes(storage.sizeBytes() - 1, 1).get(0);
        }
    }

    private void restore() {
        record.reserve(original.length);
        record.memory().putBytes(0, original);
    }

    @Test
    void theOriginalIsTaken() throws Exception {
        assertThat(survives("original")).isTrue();
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void flippedBitsDoNoHarm(long seed) throws Exception {
        Random random = new Random(seed);
        int tables = record.memory().getInt(start + TensorSection.TABLES_LENGTH, ByteOrder.LITTLE_ENDIAN);
        for (int round = 0; round < 5000; round++) {
            restore();
            for (int flips = 1 + random.nextInt(3); flips > 0; flips--) {
                int at = start + random.nextInt(tables);
                record.memory().putByte(at, (byte) (record.memory().getByte(at) ^ 1 << random.nextInt(8)));
            }
            survives("seed " + seed + ", round " + round);
        }
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void lyingNumbersDoNoHarm(long seed) throws Exception {
        Random random = new Random(seed);
        int tables = record.memory().getInt(start + TensorSection.TABLES_LENGTH, ByteOrder.LITTLE_ENDIAN);
        for (int round = 0; round < 5000; round++) {
            restore();
            long number = TELLING[random.nextInt(TELLING.length)] + random.nextInt(3) - 1;
            int width = 1 << random.nextInt(4);
            int at = start + random.nextInt(tables / width) * width;
            switch (width) {
                case 1 -> record.memory().putByte(at, (byte) number);
                case 2 -> record.memory().putShort(at, (short) number, ByteOrder.LITTLE_ENDIAN);
                case 4 -> record.memory().putInt(at, (int) number, ByteOrder.LITTLE_ENDIAN);
                default -> record.memory().putLong(at, number, ByteOrder.LITTLE_ENDIAN);
            }
            survives("seed " + seed + ", round " + round);
        }
    }

    @Test
    void everyTruncationIsRefused() throws Exception {
        int whole = original.length - start;
        for (int length = 1; length < whole; length++) {
            restore();
            record.memory().putInt(Envelope.SECTION_LENGTH, length, ByteOrder.LITTLE_ENDIAN);
            record.reserve(start + length);
            assertThat(survives("length " + length)).as("length " + length).isFalse();
        }
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void noiseIsRefused(long seed) throws Exception {
        Random random = new Random(seed);
        byte[] noise = new byte[original.length - start];
        for (int round = 0; round < 2000; round++) {
            restore();
            random.nextBytes(noise);
            record.memory().putBytes(start, noise);
            assertThat(survives("seed " + seed + ", round " + round)).isFalse();
        }
    }

    @ParameterizedTest
    @CsvSource({
        "0, 2, 5, storages",
        "0, 2, 0, storages",
        "0, 2, 65535, storages",
        "2, 2, 3, 4 tensors",
        "4, 1, 65, devices",
        "4, 1, 3, do not fit",
        "5, 1, 2, version 2",
        "6, 1, 1, reserved",
        "8, 4, 4000000000, 4000000000",
        "8, 4, 100, do not fit",
        "12, 4, 1, reserved",
        "16, 1, 3, kind",
        "17, 1, 1, devices",
        "19, 1, 1, reserved",
        "24, 8, -1, below 2^63",
        "24, 8, 9223372036854775807, below 2^63",
        "24, 8, 100000, inlined storage 0",
        "32, 8, 1, multiple of 64",
        "32, 8, 0, inlined storage 0",
        "32, 8, -64, multiple of 64",
        "40, 8, 5, in no segment",
        "80, 8, -1, segment",
        "136, 1, 14, unknown element type 14",
        "136, 1, 255, unknown element type 255",
        "137, 1, 2, tensor 0",
        "138, 1, 65, 64",
        "140, 2, 3, storage 3 of 3",
        "142, 2, 1, reserved",
        "144, 8, -1, storage offset",
        "144, 8, 9223372036854775807, elements",
        "152, 8, -5, sizes",
        "152, 8, 4611686018427387904, elements",
        "168, 8, 4611686018427387904, elements",
    })
    void saysWhatWasExpectedAndFound(int at, int width, long number, String says) {
        switch (width) {
            case 1 -> record.memory().putByte(start + at, (byte) number);
            case 2 -> record.memory().putShort(start + at, (short) number, ByteOrder.LITTLE_ENDIAN);
            case 4 -> record.memory().putInt(start + at, (int) number, ByteOrder.LITTLE_ENDIAN);
            default -> record.memory().putLong(start + at, number, ByteOrder.LITTLE_ENDIAN);
        }
        record.seal(0);
        assertThatThrownBy(() -> transit.receive(record))
                .isInstanceOf(MalformedRecordException.class)
                .hasMessageContaining(says);
    }

    @Test
    void aSectionThatReachesOverTheBufferIsRefused() {
        UnsafeBuffer bytes = new UnsafeBuffer(new byte[64]);
        assertThatThrownBy(() -> new SectionView().check(bytes, 8, 57, 1)).isInstanceOf(MalformedRecordException.class);
        assertThatThrownBy(() -> new SectionView().check(bytes, 8, 15, 1)).isInstanceOf(MalformedRecordException.class);
    }
}
