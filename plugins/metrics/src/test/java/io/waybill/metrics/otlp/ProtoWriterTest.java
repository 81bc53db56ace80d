package io.waybill.metrics.otlp;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.CodedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What is written is what Protocol Buffers' own writer writes, about each power of two. */
@Timeout(60)
class ProtoWriterTest {

    private static final int FIELD = 16; // the first one whose tag has two bytes

    /** Writes a message. */
    private interface Content {
        void write(CodedOutputStream to) throws IOException;
    }

    private static void assertWritten(String what, ProtoWriter written, Content expected) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        CodedOutputStream to = CodedOutputStream.newInstance(bytes);
        expected.write(to);
        to.flush();
        assertThat(written.toByteArray()).as(what).isEqualTo(bytes.toByteArray());
    }

    @Test
    void writesEachNumber() throws IOException {
        long[] numbers = LongStream.range(0, Long.SIZE)
                .flatMap(bit -> LongStream.of((1L << bit) - 1, 1L << bit, (1L << bit) + 1))
                .toArray();
        for (long number : numbers) {
            assertWritten(
                    "the number 0x" + Long.toHexString(number),
                    new ProtoWriter().presentVarint(FIELD, number),
                    to -> to.writeInt64(FIELD, number));
        }
    }

    @Test
    void writesTheLengthOfEachText() throws IOException {
        for (int length : new int[] {1, 127, 128, 129, 16_383, 16_384}) {
            byte[] text = new byte[length];
            Arrays.fill(text, (byte) 'x');
            assertWritten(
                    "a text of " + length + " bytes",
                    new ProtoWriter().bytes(FIELD, text),
                    to -> to.writeByteArray(FIELD, text));
        }
    }
}
