package io.waybill.cli.argument;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.Value;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(value = 30, unit = TimeUnit.SECONDS)
class ValueReaderTest {

    private static final Tensor TENSOR = Tensor.contiguous(DType.UINT8, new long[] {0}, new Nothing());

    private final List<String> files = new ArrayList<>();

    private Value read(String text) throws ArgumentException {
        return ValueReader.read(text, file -> {
            files.add(file);
            return TENSOR;
        });
    }

    @ParameterizedTest
    @CsvSource({"1,1", "-2,-2", "+7,7", "0x1f,31", "-0x10,-16", "007,7", "9223372036854775807,9223372036854775807"})
    void readsIntegers(String text, long expected) throws ArgumentException {
        assertThat(read(text)).isEqualTo(Value.of(expected));
    }

    @ParameterizedTest
    @CsvSource({"2.5,2.5", "1.,1", ".5,0.5", "1e-3,0.001", "-1E3,-1000", "inf,Infinity", "-inf,-Infinity", "nan,NaN"})
    void readsFloats(String text, double expected) throws ArgumentException {
        assertThat(read(text)).isEqualTo(Value.of(expected));
    }

    @ParameterizedTest
    @CsvSource({"2j,0,2", "1+2j,1,2", "1-2j,1,-2", "-1.5e3-.5j,-1500,-0.5", "1e+2j,0,100", "1e2+3j,100,3"})
    void readsComplexNumbers(String text, double real, double imaginary) throws ArgumentException {
        assertThat(read(text)).isEqualTo(new Value.Complex(real, imaginary));
    }

    @Test
    void readsConstants() throws ArgumentException {
        assertThat(read("true")).isEqualTo(Value.of(true));
        assertThat(read("False")).isEqualTo(Value.of(false));
        assertThat(read("None")).isEqualTo(Value.NONE);
        assertThat(read("null")).isEqualTo(Value.NONE);
    }

    @Test
    void readsQuotedTextWithEscapes() throws ArgumentException {
        assertThat(read("'it\\'s'")).isEqualTo(Value.of("it's"));
        assertThat(read("\"a\\n\\\"b\\\"\\\\\"")).isEqualTo(Value.of("a\n\"b\"\\"));
        assertThat(read("\"\\u20ac\\/\\b\\f\\r\\t\"")).isEqualTo(Value.of("\u20ac/\b\f\r\t"));
        assertThat(read("''")).isEqualTo(Value.of(""));
        assertThat(read("'a.npy'")).isEqualTo(Value.of("a.npy"));
    }

    @Test
    void readsListsTuplesAndDicts() throws ArgumentException {
        assertThat(read("[1,2,[3]]")).isEqualTo(Value.list(Value.of(1), Value.of(2), Value.list(Value.of(3))));
        assertThat(read("(1, 'x',)")).isEqualTo(Value.tuple(Value.of(1), Value.of("x")));
        assertThat(read("[]")).isEqualTo(Value.list());
        Map<Value, Value> entries = new LinkedHashMap<>();
        entries.put(Value.of("a"), Value.of(1));
        entries.put(Value.of(2), Value.of("b"));
        assertThat(read("{a: 1, 2: 'b'}")).isEqualTo(new Value.Dict(entries));
    }

    @Test
    void readsElementTypesAndDevices() throws ArgumentException {
        assertThat(read("float32")).isEqualTo(Value.of(DType.FLOAT32));
        assertThat(read("torch.int64")).isEqualTo(Value.of(DType.INT64));
        assertThat(read("double")).isEqualTo(Value.of(DType.FLOAT64));
        assertThat(read("bool")).isEqualTo(Value.of(DType.BOOL));
        assertThat(read("cpu")).isEqualTo(Value.of(Device.CPU));
        assertThat(read("[cuda:1]")).isEqualTo(Value.list(Value.of(new Device("cuda", 1))));
    }

    @Test
    void readsFilesAsTensors() throws ArgumentException {
        assertThat(read("dir with blanks/a.npy")).isEqualTo(Value.of(TENSOR));
        assertThat(read("[a.npy, b.npy]")).isEqualTo(Value.list(Value.of(TENSOR), Value.of(TENSOR)));
        assertThat(read("@matrix")).isEqualTo(Value.of(TENSOR));
        assertThat(read("[@'x, y']")).isEqualTo(Value.list(Value.of(TENSOR)));
        assertThat(files).containsExactly("dir with blanks/a.npy", "a.npy", "b.npy", "matrix", "x, y");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "x",
                "[1",
                "[1 2]",
                "(1,",
                "'open",
                "{a 1}",
                "{a:1,a:2}",
                "1.2.3",
                "1+2",
                "--1",
                "cuda:999",
                "[1]]",
                "'\\q'",
                "'\\u12'",
                "'\\u12g4'",
                "9223372036854775808"
            })
    void refusesWhatIsNoValueInOneLine(String text) {
        assertThatThrownBy(() -> read(text))
                .isInstanceOf(ArgumentException.class)
                .message()
                .isNotBlank()
                .doesNotContain("\n");
    }

    @Test
    void refusesToNestWithoutEnd() {
        assertThatThrownBy(() -> read("[".repeat(100_000)))
                .isInstanceOf(ArgumentException.class)
                .hasMessageContaining("at most 32 deep");
    }

    /** A storage without bytes. */
    private static final class Nothing implements Storage {
        @Override
        public Device device() {
            return Device.CPU;
        }

        @Override
        public long sizeBytes() {
            return 0;
        }

        @Override
        public long address() {
            throw new IllegalStateException();
        }

        @Override
        public ByteBuffer bytes(long offset, int length) {
            throw new IndexOutOfBoundsException();
        }

        @Override
        public Storage retain() {
            return this;
        }

        @Override
        public void release() {
            // counts nothing
        }
    }
}
