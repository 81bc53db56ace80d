package io.waybill.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.fail;

import io.waybill.api.MessageType;
import java.nio.ByteOrder;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Which bytes are a record. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class RecordCheckTest {

    private static final int PAYLOAD = 300;

    private final MessageBuffer record = new MessageBuffer();
    private final RecordView view = new RecordView(record);

    private void write(int payloadLength, int sectionLength) {
        byte[] payload = new byte[payloadLength];
        new Random(payloadLength).nextBytes(payload);
        record.begin(MessageType.NAMED_CALL, 77, 3, 4, payloadLength, sectionLength)
                .payload(payload, 0, payloadLength)
                .tensorCount(sectionLength == 0 ? 0 : 1);
        for (int i = record.length() - sectionLength; i < record.length(); i++) {
            record.memory().putByte(i, (byte) i);
        }
        record.seal(5);
    }

    private void flip(int at, int bit) {
        record.memory().putByte(at, (byte) (record.memory().getByte(at) ^ 1 << bit));
    }

    private String problem() {
        try {
            view.check();
            return "";
        } catch (MalformedRecordException e) {
            return e.getMessage();
        }
    }

    /** Around 200 bytes and beyond, in case the checksum of long records is another than that of short ones. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 7, 8, 95, 96, 97, 150, 1000, 9001})
    void everyByteIsCovered(int payloadLength) {
        for (int sectionLength : new int[] {0, 128}) {
            write(payloadLength, sectionLength);
            assertThat(problem()).isEmpty();
            for (int at = 0; at < record.length(); at++) {
                flip(at, at % 8);
                if (problem().isEmpty()) {
                    fail("a flipped bit in byte %d of a record of %d bytes is not noticed", at, record.length());
                }
                flip(at, at % 8);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 95, 96, 97, 1000, 70_001})
    void theChecksumIsThatOfAllBytesBehindIt(int payloadLength) {
        write(payloadLength, 0);
        byte[] bytes = new byte[record.length()];
        record.memory().getBytes(0, bytes);
        CRC32C expected = new CRC32C();
        expected.update(bytes, 4, bytes.length - 4);
        assertThat(record.memory().getInt(Envelope.CHECKSUM, ByteOrder.LITTLE_ENDIAN))
                .as("checksum of a record of %d bytes", bytes.length)
                .isEqualTo((int) expected.getValue());
    }

    @ParameterizedTest
    @ValueSource(ints = {0, -1, 1, Integer.MIN_VALUE, 0x4257})
    void noChecksumStandsForAnother(int instead) {
        write(PAYLOAD, 0);
        record.memory().putInt(Envelope.CHECKSUM, instead, ByteOrder.LITTLE_ENDIAN);
        assertThatExceptionOfType(MalformedRecordException.class)
                .as("a record with the checksum 0x%08x instead of its own", instead)
                .isThrownBy(view::check)
                .withMessageContaining("checksum");
    }

    /** The checksum is right, so its writer wrote a false value. */
    @ParameterizedTest
    @ValueSource(ints = {-PAYLOAD, -8, -1, 1, 8, Integer.MAX_VALUE - PAYLOAD, -PAYLOAD - 1, Integer.MIN_VALUE})
    void thePayloadIsAsLongAsTheRecordSays(int more) {
        write(PAYLOAD, 0);
        record.memory().putInt(Envelope.PAYLOAD_LENGTH, PAYLOAD + more, ByteOrder.LITTLE_ENDIAN);
        record.seal(5);
        assertThatExceptionOfType(MalformedRecordException.class)
                .as("a record with room for a payload of %d bytes, which says that it has %d", PAYLOAD, PAYLOAD + more)
                .isThrownBy(view::check)
                .withMessageContaining("not " + record.length());
    }

    @ParameterizedTest
    @ValueSource(ints = {-64, -8, -1, 1, 8, Integer.MAX_VALUE - 64, -65})
    void theSectionIsAsLongAsTheRecordSays(int more) {
        write(PAYLOAD, 64);
        record.memory().putInt(Envelope.SECTION_LENGTH, 64 + more, ByteOrder.LITTLE_ENDIAN);
        record.seal(5);
        assertThatExceptionOfType(MalformedRecordException.class)
                .as("a record with room for a section of 64 bytes, which says that it has %d", 64 + more)
                .isThrownBy(view::check)
                .withMessageContaining("not " + record.length());
    }

    @Test
    void tensorsAndTheirSectionComeTogether() {
        write(PAYLOAD, 0);
        record.tensorCount(1).seal(5);
        assertThat(problem()).as("a tensor without a section").contains("tensor section");
        write(PAYLOAD, 64);
        record.tensorCount(0).seal(5);
        assertThat(problem()).as("a section without a tensor").contains("tensor section");
    }
}
