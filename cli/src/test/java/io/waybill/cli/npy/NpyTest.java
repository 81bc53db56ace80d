package io.waybill.cli.npy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Tensor;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(value = 30, unit = TimeUnit.SECONDS)
class NpyTest {

    @TempDir
    Path directory;

    private static byte[] hex(String digits) {
        return HexFormat.of().parseHex(digits.replace(" ", ""));
    }

    /** A file written by hand: version, header text, elements. */
    private Path file(int major, String header, String elements) throws IOException {
        byte[] text = header.getBytes(StandardCharsets.UTF_8);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        bytes.write(hex("93 4e 55 4d 50 59"));
        bytes.write(major);
        bytes.write(0);
        bytes.write(text.length & 0xff);
        bytes.write(text.length >> 8);
        if (major > 1) {
            bytes.write(0);
            bytes.write(0);
        }
        bytes.write(text);
        bytes.write(hex(elements));
        return Files.write(directory.resolve("array.npy"), bytes.toByteArray());
    }

    private static String header(String descr, String fortran, String shape) {
        return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }   \n";
    }

    private static byte[] content(Tensor tensor) {
        byte[] content = new byte[(int) tensor.storage().sizeBytes()];
        tensor.storage().bytes(0, content.length).get(content);
        return content;
    }

    private static Tensor read(Path file) throws IOException {
        return Npy.read(file, HeapStorage::new);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void readsEveryVersion(int major) throws IOException {
        Tensor tensor = read(file(major, header("<i2", "False", "(2, 3)"), "0100 0200 0300 0400 0500 0600"));

        assertThat(tensor.dtype()).isEqualTo(DType.INT16);
        assertThat(tensor.sizes()).containsExactly(2, 3);
        assertThat(tensor.strides()).containsExactly(3, 1);
        assertThat(content(tensor)).isEqualTo(hex("0100 0200 0300 0400 0500 0600"));
    }

    @Test
    void readsFortranOrderAsStrides() throws IOException {
        Tensor tensor = read(file(1, header("|u1", "True", "(2, 3)"), "01 02 03 04 05 06"));

        assertThat(tensor.sizes()).containsExactly(2, 3);
        assertThat(tensor.strides()).containsExactly(1, 2);
    }

    @Test
    void turnsBigEndianElementsAround() throws IOException {
        Tensor floats = read(file(1, header(">f4", "False", "(2,)"), "3f800000 c0000000"));
        assertThat(content(floats)).isEqualTo(hex("0000803f 000000c0"));

        Tensor complex = read(file(1, header(">c8", "False", "(1,)"), "3f800000 c0000000"));
        assertThat(content(complex)).isEqualTo(hex("0000803f 000000c0"));
    }

    @Test
    void readsScalarsAndEmptyArrays() throws IOException {
        Tensor scalar = read(file(1, header("<f8", "False", "()"), "000000000000f03f"));
        assertThat(scalar.dimensions()).isZero();
        assertThat(scalar.elementCount()).isOne();

        Tensor empty = read(file(1, header("<f8", "False", "(0, 7)"), ""));
        assertThat(empty.sizes()).containsExactly(0, 7);
    }

    @ParameterizedTest
    @CsvSource({
        "|b1,BOOL,1",
        "|i1,INT8,1",
        "|u1,UINT8,1",
        "<i2,INT16,2",
        "<u2,UINT16,2",
        "<i4,INT32,4",
        "<u4,UINT32,4",
        "<i8,INT64,8",
        "<u8,UINT64,8",
        "<f2,FLOAT16,2",
        "<f4,FLOAT32,4",
        "<f8,FLOAT64,8",
        "<c8,COMPLEX64,8",
        "<c16,COMPLEX128,16"
    })
    void writesWhatItReads(String descr, DType dtype, int size) throws IOException {
        Path original = file(1, header(descr, "False", "(1,)"), "01".repeat(size));
        Tensor tensor = read(original);
        assertThat(tensor.dtype()).isEqualTo(dtype);

        Path copy = directory.resolve("copy.npy");
        Npy.write(copy, tensor);

        byte[] written = Files.readAllBytes(copy);
        assertThat(new String(written, StandardCharsets.ISO_8859_1))
                .contains("{'descr': '" + descr + "', 'fortran_order': False, 'shape': (1,), }");
        assertThat(written).endsWith(hex("01".repeat(size)));
        assertThat((written.length - size) % 64).as("elements are aligned").isZero();
        assertThat(content(read(copy))).isEqualTo(content(tensor));
    }

    @Test
    void writesColumnMajorTensorsAsTheyAre() throws IOException {
        Tensor tensor = new Tensor(
                DType.UINT8, new long[] {2, 3}, new long[] {1, 2}, 0, false, new HeapStorage(hex("010203040506")));

        Path file = directory.resolve("f.npy");
        Npy.write(file, tensor);

        Tensor again = read(file);
        assertThat(again.strides()).containsExactly(1, 2);
        assertThat(content(again)).isEqualTo(hex("010203040506"));
    }

    @Test
    void gathersElementsThatLieApart() throws IOException {
        HeapStorage storage = new HeapStorage(hex("00 01 02 03 04 05 06 07 08 09 0a 0b"));
        Tensor everySecondBackwards = new Tensor(DType.UINT8, new long[] {2, 3}, new long[] {6, -2}, 5, false, storage);

        Path file = directory.resolve("gathered.npy");
        Npy.write(file, everySecondBackwards);

        assertThat(content(read(file))).isEqualTo(hex("05 03 01 0b 09 07"));
    }

    @Test
    void replacesAFileOnlyWhenAllIsWritten() throws IOException {
        Path file = Files.writeString(directory.resolve("kept.npy"), "before");
        Tensor bfloat = Tensor.contiguous(DType.BFLOAT16, new long[] {1}, new HeapStorage(2L));

        assertThatThrownBy(() -> Npy.write(file, bfloat)).hasMessageContaining("NumPy has no type for bfloat16");

        assertThat(file).hasContent("before");
        try (var entries = Files.list(directory)) {
            assertThat(entries.toList()).containsExactly(file);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "{",
                "{}",
                "{'descr': '<f4'}",
                "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
                "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}",
                "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
                "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
                "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 9223372036854775807)}",
                "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,)}",
                "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000,)}",
                "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
                "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 'x'}",
                "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
                "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
                "{'descr': '<f4, 'fortran_order': False, 'shape': (1,)}"
            })
    void refusesHeadersThatLie(String header) throws IOException {
        Path file = file(1, header, "00000000");

        assertThatThrownBy(() -> read(file))
                .isInstanceOf(NpyException.class)
                .hasMessageStartingWith(file + " is not an array that can be read: ")
                .message()
                .doesNotContain("\n");
    }

    @Test
    void refusesMoreDimensionsThanATensorHas() throws IOException {
        Path file = file(1, header("|u1", "False", "(" + "1, ".repeat(65) + ")"), "00");

        assertThatThrownBy(() -> read(file)).hasMessageContaining("at most 64 dimensions");
    }

    @Test
    void refusesFilesCutShort() throws IOException {
        byte[] whole = Files.readAllBytes(file(1, header("<f4", "False", "(2,)"), "0000803f 0000803f"));
        Path cut = directory.resolve("cut.npy");
        for (int length = 0; length < whole.length; length++) {
            Files.write(cut, java.util.Arrays.copyOf(whole, length));
            assertThatThrownBy(() -> read(cut)).as("%d bytes", length).isInstanceOf(NpyException.class);
        }
    }

    @Test
    void refusesAHeaderLengthThatIsTooLong() throws IOException {
        Path file = Files.write(directory.resolve("long.npy"), hex("93 4e 55 4d 50 59 02 00 ff ff ff ff 00"));

        assertThatThrownBy(() -> read(file))
                .hasMessageContaining("a header of at most 65536 bytes, found one of 4294967295");
    }

    @Test
    void refusesWhatIsNoRegularFile() {
        for (Path path : List.of(directory, directory.resolve("missing.npy"), Path.of("/dev/null"))) {
            assertThatThrownBy(() -> read(path))
                    .isInstanceOf(NpyException.class)
                    .hasMessageContaining(path.toString());
        }
        Tensor tensor = Tensor.contiguous(DType.UINT8, new long[] {1}, new HeapStorage(1L));
        assertThatThrownBy(() -> Npy.write(Path.of("/dev/null"), tensor)).isInstanceOf(NpyException.class);
        assertThatThrownBy(() -> Npy.write(directory.resolve("none/a.npy"), tensor))
                .isInstanceOf(NpyException.class)
                .hasMessageContaining("no directory");
    }

    @Test
    void givesMemoryBackWhenReadingFails() throws IOException {
        Path file = file(1, header("<f4", "False", "(1,)"), "0000803f");
        HeapStorage tooSmall = new HeapStorage(1L);

        assertThatThrownBy(() -> Npy.read(file, size -> tooSmall)).isInstanceOf(RuntimeException.class);

        assertThat(tooSmall.count).isZero();
    }
}
