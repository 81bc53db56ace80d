package io.waybill.kept;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.host.Host;
import io.waybill.host.UnsafeFileException;
import io.waybill.rref.id.RRefId;
import io.waybill.testing.core.Seeds;
import io.waybill.wire.Envelope;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class KeptValuesTest {

    private static final int OWNER = 7;
    private static final RRefId ID = new RRefId(3, 0x1_0000_0005L);
    private static final int FUZZED = 5_000;

    @TempDir
    private Path directory;

    private final CountedBuffers buffers = new CountedBuffers();
    private KeptValues values;

    @BeforeEach
    void open() {
        values = new KeptValues(directory, OWNER, 2, Host.real().files());
    }

    @AfterEach
    void nothingIsLeft() {
        assertThat(buffers.live).as("storages that were not given back").isZero();
    }

    private Storage storage(int bytes) {
        Storage storage = buffers.allocate(bytes);
        ByteBuffer content = storage.bytes(0, bytes);
        for (int i = 0; i < bytes; i++) {
            content.put(i, (byte) (i * 31 + bytes));
        }
        return storage;
    }

    /** Two tensors over one storage, one over nothing and one over another storage. */
    private KeptValue withTensors(int otherBytes) {
        Storage shared = storage(96);
        Storage other = storage(otherBytes);
        Storage none = storage(0);
        return new KeptValue(
                ID,
                "Tensor",
                new byte[] {1, 2, 3, 4, 5},
                List.of(
                        new Tensor(DType.FLOAT32, new long[] {2, 3}, new long[] {3, 1}, 0, true, shared),
                        new Tensor(DType.FLOAT32, new long[] {3, 2}, new long[] {1, 3}, 6, false, shared),
                        new Tensor(
                                DType.INT16, new long[] {2, 1, 2, 3, 2}, new long[] {1, 2, 2, 4, 12}, 1, false, shared),
                        Tensor.contiguous(DType.UINT8, new long[] {otherBytes}, other),
                        Tensor.contiguous(DType.INT64, new long[] {0, 4}, none)));
    }

    private void write(KeptValue value) throws IOException {
        values.write(value);
        value.storages().forEach(Storage::release);
    }

    private void assertReadsAs(KeptValue expected) throws IOException {
        KeptValue found = values.read(expected.id(), buffers);
        assertThat(found.id()).isEqualTo(expected.id());
        assertThat(found.type()).isEqualTo(expected.type());
        assertThat(found.payload()).isEqualTo(expected.payload());
        assertThat(found.storages()).hasSameSizeAs(expected.storages());
        for (int i = 0; i < expected.tensors().size(); i++) {
            Tensor wanted = expected.tensors().get(i);
            Tensor read = found.tensors().get(i);
            assertThat(read.toString()).isEqualTo(wanted.toString());
            assertThat(read.strides())
                    .as("strides of %d dimensions", wanted.dimensions())
                    .isEqualTo(wanted.strides());
            assertThat(read.requiresGrad()).isEqualTo(wanted.requiresGrad());
            assertThat(bytes(read.storage())).isEqualTo(bytes(wanted.storage()));
            assertThat(found.storages().indexOf(read.storage()))
                    .isEqualTo(expected.storages().indexOf(wanted.storage()));
        }
        found.storages().forEach(Storage::release);
    }

    private static byte[] bytes(Storage storage) {
        byte[] bytes = new byte[(int) storage.sizeBytes()];
        storage.bytes(0, bytes.length).get(bytes);
        return bytes;
    }

    @Test
    void givesBackWhatWasWritten() throws IOException {
        KeptValue large = withTensors(3 * KeptLayout.PIECE_BYTES + 17);
        write(large);
        assertReadsAs(large);
        assertThat(Files.getPosixFilePermissions(values.file(ID)))
                .isEqualTo(PosixFilePermissions.fromString("rw-------"));

        KeptValue plain = new KeptValue(new RRefId(0, 0), "", new byte[0], List.of());
        write(plain);
        assertReadsAs(plain);
        assertThat(values.list()).containsExactlyInAnyOrder(ID, plain.id());

        values.forget(ID);
        values.forget(ID);
        assertThat(values.list()).containsExactly(plain.id());
        assertThatThrownBy(() -> values.read(ID, buffers)).isInstanceOf(NoSuchFileException.class);
    }

    @Test
    void keepsAsManyTensorsAsAMessageHas() throws IOException {
        assertThat(KeptLayout.MAX_TENSORS).isEqualTo(Envelope.MAX_TENSORS);
        List<Tensor> many = new ArrayList<>();
        for (int i = 0; i < KeptLayout.MAX_TENSORS; i++) {
            many.add(Tensor.contiguous(DType.UINT8, new long[] {1}, storage(1)));
        }
        many.get(many.size() - 1).storage().bytes(0, 1).put(0, (byte) 77);
        write(new KeptValue(ID, "PyObject", new byte[0], many));

        KeptValue found = values.read(ID, buffers);
        assertThat(found.tensors()).hasSameSizeAs(many);
        assertThat(bytes(found.tensors().get(many.size() - 1).storage())).containsExactly(77);
        found.storages().forEach(Storage::release);

        Storage one = storage(1);
        Tensor tensor = Tensor.contiguous(DType.UINT8, new long[] {1}, one);
        assertThatThrownBy(() -> values.write(
                        new KeptValue(ID, "", new byte[0], Collections.nCopies(KeptLayout.MAX_TENSORS + 1, tensor))))
                .hasMessageContaining("at most 32768 tensors");
        one.release();
    }

    @Test
    void findsNothingWhereNothingWasKept() throws IOException {
        assertThat(values.list()).isEmpty();
        assertThat(directory).isEmptyDirectory();
    }

    @Test
    void noticesEveryByteThatChangesAndEveryOneThatIsMissing() throws IOException {
        write(withTensors(341));
        byte[] whole = Files.readAllBytes(values.file(ID));
        for (int at = 0; at < whole.length; at++) {
            byte[] flipped = whole.clone();
            flipped[at] ^= (byte) (1 << at % 8);
            assertIsRefused(flipped, "bit " + at % 8 + " of byte " + at);
        }
        for (int length = 0; length < whole.length; length++) {
            assertIsRefused(Arrays.copyOf(whole, length), "length " + length);
        }
        assertIsRefused(Arrays.copyOf(whole, whole.length + 1), "a byte more");
    }

    private void assertIsRefused(byte[] content, String what) throws IOException {
        Files.write(values.file(ID), content);
        try {
            values.read(ID, buffers).storages().forEach(Storage::release);
        } catch (IOException e) {
            assertThat(e).hasMessageContaining(values.file(ID).toString());
            return;
        }
        throw new AssertionError(what + " was not noticed");
    }

    /** Whoever can write the file can make its checksums right: what it says is not believed all the same. */
    @Test
    void allocatesNoMoreThanThereIsWhateverTheHeadSays() throws IOException {
        write(withTensors(41));
        byte[] whole = Files.readAllBytes(values.file(ID));
        long seed = Seeds.fresh();
        Random random = new Random(seed);
        for (int round = 0; round < FUZZED; round++) {
            byte[] forged = forge(whole, random);
            Files.write(values.file(ID), forged);
            buffers.asked = 0;
            try {
                values.read(ID, buffers).storages().forEach(Storage::release);
            } catch (IOException e) {
                assertThat(e).hasMessageContaining(values.file(ID).toString());
            } catch (RuntimeException e) {
                throw new AssertionError("seed " + seed + ", round " + round, e);
            }
            assertThat(buffers.asked).as("seed %d, round %d", seed, round).isLessThanOrEqualTo(forged.length);
            assertThat(buffers.live).as("seed %d, round %d", seed, round).isZero();
        }
    }

    private static byte[] forge(byte[] whole, Random random) {
        byte[] forged = whole.clone();
        ByteBuffer view = ByteBuffer.wrap(forged).order(ByteOrder.LITTLE_ENDIAN);
        int headLength = view.getInt(KeptLayout.HEAD_LENGTH_AT);
        int[] edges = {0, 1, -1, 255, Integer.MAX_VALUE, Integer.MIN_VALUE, headLength, whole.length};
        for (int change = random.nextInt(3); change >= 0; change--) {
            int at = random.nextInt(headLength - 4);
            if (random.nextBoolean()) {
                forged[at] = (byte) random.nextInt();
            } else {
                view.putInt(at, edges[random.nextInt(edges.length)]);
            }
        }
        if (view.getInt(KeptLayout.HEAD_LENGTH_AT) == headLength) {
            view.putInt(KeptLayout.CHECKSUM_AT, 0);
            CRC32C checksum = new CRC32C();
            checksum.update(forged, 0, headLength);
            view.putInt(KeptLayout.CHECKSUM_AT, (int) checksum.getValue());
        }
        return forged;
    }

    @Test
    void refusesAValueOfAnotherReferenceOrWorker() throws IOException {
        write(new KeptValue(ID, "int", new byte[] {9}, List.of()));
        RRefId other = new RRefId(3, 6);
        Files.move(values.file(ID), values.file(other));
        assertThatThrownBy(() -> values.read(other, buffers))
                .isInstanceOf(DamagedValueException.class)
                .hasMessageContaining("expected the value of " + other + " of worker 7, found that of created_on=3,"
                        + " local_id=4294967301 of worker 7");
        Files.move(values.file(other), values.file(ID));
        KeptValues others = new KeptValues(directory, OWNER + 1, 1, Host.real().files());
        assertThatThrownBy(() -> others.read(ID, buffers))
                .isInstanceOf(DamagedValueException.class)
                .hasMessageContaining("of worker 8, found");
    }

    @Test
    void listsWholeValuesAndRemovesHalfOnes() throws IOException {
        write(new KeptValue(ID, "int", new byte[] {9}, List.of()));
        Path kept = values.file(ID).getParent();
        List<Path> others = new ArrayList<>();
        for (String name : List.of("3.5", "x.5.value", "99999.5.value", "3.999999999999999.value", "notes")) {
            others.add(Files.createFile(kept.resolve(name)));
        }
        Path half = Files.createFile(kept.resolve(".3.12.value.new"));

        assertThat(values.list()).containsExactly(ID);

        assertThat(half).doesNotExist();
        assertThat(others).allMatch(Files::exists);
    }

    @Test
    void setsADamagedFileAsideUnderAnotherName() throws IOException {
        write(new KeptValue(ID, "int", new byte[] {9}, List.of()));
        Path aside = values.setAside(ID);
        assertThat(aside).exists().hasFileName("3.4294967301.value.damaged");
        assertThat(values.list()).isEmpty();
    }

    @Test
    void refusesAnythingButAFileOfItsOwn() throws IOException {
        write(new KeptValue(ID, "int", new byte[] {9}, List.of()));
        Path elsewhere = Files.move(values.file(ID), directory.resolve("elsewhere"));
        Files.createSymbolicLink(values.file(ID), elsewhere);
        assertThatThrownBy(() -> values.read(ID, buffers)).isInstanceOf(UnsafeFileException.class);
    }

    @Test
    void refusesWhatIsBeyondAFile() {
        KeptValue value = new KeptValue(ID, "x".repeat(256), new byte[] {9}, List.of());
        assertThatThrownBy(() -> values.write(value))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("a type of at most 255 bytes");
    }
}
