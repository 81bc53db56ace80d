package io.waybill.replay.slice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.waybill.api.WorkerInfo;
import io.waybill.api.tensor.Tensor;
import io.waybill.query.MessageFilter;
import io.waybill.replay.recording.CallRecording;
import io.waybill.replay.recording.NotRecordedException;
import io.waybill.replay.recording.RecordedCall;
import io.waybill.replay.recording.RecordedMessage;
import io.waybill.testing.core.Seeds;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Files that are no slices, or no longer, or that lie. */
@Timeout(180)
class HostileSliceTest {

    private static final int FLIPS = 2000;
    private static final int FORGED = 500;

    @TempDir
    private Path directory;

    private SlicedHome home;
    private Path slice;
    private byte[] whole;

    @BeforeEach
    void write() throws Exception {
        home = new SlicedHome(directory).calls(30);
        slice = directory.resolve("calls.slice");
        home.slice(MessageFilter.ALL, Payloads.FULL, slice);
        whole = Files.readAllBytes(slice);
    }

    @AfterEach
    void close() throws IOException {
        home.close();
    }

    /** Reads all that is there. What is wrong is told by the two exceptions that say so, and by no other. */
    private void read() throws IOException {
        try (SliceRecording sliced = home.open(slice)) {
            for (WorkerInfo worker : sliced.workers()) {
                try (CallRecording.Handled handled = sliced.handled(worker, MessageFilter.ALL)) {
                    for (RecordedCall call = handled.next(); call != null; call = handled.next()) {
                        sliced.nested(call);
                        tensors(sliced, call.request());
                        if (call.response().isPresent()) {
                            tensors(sliced, call.response().get());
                        }
                    }
                }
            }
            assertThat(sliced.liveTensorBytes()).isZero();
        }
    }

    private static void tensors(CallRecording recording, RecordedMessage message) throws IOException {
        try {
            for (Tensor tensor : recording.tensors(message)) {
                tensor.storage().release();
            }
        } catch (NotRecordedException e) {
            assertThat(e.getMessage()).contains("is not there");
        }
    }

    private void requireRefused(byte[] bytes, String... words) throws IOException {
        Files.write(slice, bytes);
        assertThatExceptionOfType(MalformedSliceException.class)
                .isThrownBy(this::read)
                .satisfies(e -> assertThat(e.getMessage()).contains(slice.toString(), "expected", "found"))
                .satisfies(e -> assertThat(List.of(words)).allMatch(e.getMessage()::contains));
    }

    @Test
    void areRefusedWhenTheyAreCutShort() throws IOException {
        Random random = new Random(Seeds.one(1));
        for (int i = 0; i < 50; i++) {
            requireRefused(Arrays.copyOf(whole, random.nextInt(whole.length)));
        }
        requireRefused(new byte[0]);
    }

    @Test
    void areReadOrRefusedWhateverByteIsTurnedOver() throws IOException {
        long seed = Seeds.fresh();
        Random random = new Random(seed);
        int refused = 0;
        for (int i = 0; i < FLIPS; i++) {
            byte[] damaged = whole.clone();
            int at = i % 2 == 0 ? random.nextInt(damaged.length) : damaged.length - 1 - random.nextInt(6000);
            damaged[at] ^= (byte) (1 << random.nextInt(8));
            Files.write(slice, damaged);
            Throwable thrown = catchThrowable(this::read);
            refused += thrown == null ? 0 : 1;
            assertThat(thrown == null || thrown instanceof IOException)
                    .as("seed %d, byte %d: %s", seed, at, thrown)
                    .isTrue();
        }
        assertThat(refused).isGreaterThan(FLIPS / 4);
    }

    private Map<String, byte[]> entries() throws IOException {
        Map<String, byte[]> entries = new LinkedHashMap<>();
        Files.write(slice, whole);
        try (ZipFile zip = new ZipFile(slice.toFile())) {
            for (ZipEntry entry : Collections.list(zip.entries())) {
                try (InputStream in = zip.getInputStream(entry)) {
                    entries.put(entry.getName(), in.readAllBytes());
                }
            }
        }
        return entries;
    }

    private static byte[] zip(Map<String, byte[]> entries, int method) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ZipOutputStream zip = new ZipOutputStream(bytes)) {
            for (Map.Entry<String, byte[]> each : entries.entrySet()) {
                ZipEntry entry = new ZipEntry(each.getKey());
                CRC32 checksum = new CRC32();
                checksum.update(each.getValue());
                entry.setMethod(method);
                entry.setSize(each.getValue().length);
                entry.setCrc(checksum.getValue());
                zip.putNextEntry(entry);
                zip.write(each.getValue());
                zip.closeEntry();
            }
        }
        return bytes.toByteArray();
    }

    @Test
    void areReadOrRefusedWhateverTheirEntriesSay() throws IOException {
        long seed = Seeds.fresh();
        Random random = new Random(seed);
        for (int i = 0; i < FORGED; i++) {
            Map<String, byte[]> entries = entries();
            List<String> names = new ArrayList<>(entries.keySet());
            String name = i % 3 == 0 ? SliceLayout.INFO : names.get(random.nextInt(names.size()));
            byte[] content = entries.get(name).clone();
            for (int flips = random.nextInt(4); flips >= 0; flips--) {
                content[random.nextInt(content.length)] = (byte) random.nextInt(256);
            }
            entries.put(name, content);
            Files.write(slice, zip(entries, ZipEntry.STORED));
            Throwable thrown = catchThrowable(this::read);
            assertThat(thrown == null || thrown instanceof IOException)
                    .as("seed %d, entry %s: %s", seed, name, thrown)
                    .isTrue();
        }
    }

    @Test
    void areRefusedWhenTheyAreDeflated() throws IOException {
        Map<String, byte[]> entries = entries();
        entries.put("calls/00000001", new byte[50_000_000]);
        requireRefused(zip(entries, ZipEntry.DEFLATED), "stored as it is");
    }

    @Test
    void areRefusedWhenSomethingIsMissingOrTooMuch() throws IOException {
        Map<String, byte[]> entries = entries();
        String tensor = entries.keySet().stream()
                .filter(name -> name.startsWith("tensors/"))
                .findFirst()
                .orElseThrow();
        entries.remove(tensor);
        requireRefused(zip(entries, ZipEntry.STORED), "no entry");
        entries = entries();
        entries.remove(SliceLayout.INFO);
        requireRefused(zip(entries, ZipEntry.STORED), SliceLayout.INFO, "none");
        entries = entries();
        entries.put("calls/00000000", new byte[0]);
        requireRefused(zip(entries, ZipEntry.STORED), "calls");
        entries = entries();
        entries.put("notes.txt", new byte[5]);
        requireRefused(zip(entries, ZipEntry.STORED), "notes.txt");
        entries = entries();
        entries.put("calls/00000009", new byte[0]);
        requireRefused(zip(entries, ZipEntry.STORED), "calls/00000001", "none");
    }

    @Test
    void areRefusedWhenTheyAreOfAnotherFormatOrSayMoreThanThereIs() throws IOException {
        for (String[] change : new String[][] {
            {"\"format\" : 1", "\"format\" : 2"},
            {"\"calls\" : ", "\"calls\" : 1"},
            {"\"payloads\" : \"full\"", "\"payloads\" : \"none\""},
            {"\"payloads\" : \"full\"", "\"payloads\" : \"more\""},
            {"\"name\" : \"front\"", "\"name\" : \"../front\""},
            {"\"format\"", "\"form"}
        }) {
            Map<String, byte[]> entries = entries();
            String info = new String(entries.get(SliceLayout.INFO), StandardCharsets.UTF_8);
            assertThat(info).contains(change[0]);
            entries.put(SliceLayout.INFO, info.replace(change[0], change[1]).getBytes(StandardCharsets.UTF_8));
            requireRefused(zip(entries, ZipEntry.STORED));
        }
    }

    @Test
    void areRefusedWhenTheirEntriesAreTheSameBytes() throws IOException {
        // every entry of the directory at the end names the place and the length of the largest one
        byte[] forged = whole.clone();
        ByteBuffer bytes = ByteBuffer.wrap(forged).order(ByteOrder.LITTLE_ENDIAN);
        int directoryAt = bytes.getInt(forged.length - 6);
        int largest = directoryAt;
        for (int at = directoryAt; bytes.getInt(at) == 0x02014b50; at += length(bytes, at)) {
            largest = bytes.getInt(at + 24) > bytes.getInt(largest + 24) ? at : largest;
        }
        byte[] sizes = Arrays.copyOfRange(forged, largest + 16, largest + 28);
        int offset = bytes.getInt(largest + 42);
        for (int at = directoryAt; bytes.getInt(at) == 0x02014b50; at += length(bytes, at)) {
            bytes.put(at + 16, sizes).putInt(at + 42, offset);
        }
        requireRefused(forged);
    }

    private static int length(ByteBuffer bytes, int at) {
        return 46 + bytes.getShort(at + 28) + bytes.getShort(at + 30) + bytes.getShort(at + 32);
    }

    @Test
    void areNotLookedForInWhatIsNoFile() throws IOException {
        assertThatExceptionOfType(MalformedSliceException.class)
                .isThrownBy(() -> home.open(Path.of("/dev/zero")))
                .withMessageContaining("found no file");
        assertThatExceptionOfType(MalformedSliceException.class)
                .isThrownBy(() -> home.open(directory.resolve("nothing")))
                .withMessageContaining("found no file");
    }

    @Test
    void doNotGiveTensorsThatAreDamaged() throws Exception {
        Map<String, byte[]> entries = entries();
        assertThat(entries.keySet()).anyMatch(name -> name.startsWith("tensors/"));
        int at = indexOf(whole, "tensors/".getBytes(StandardCharsets.UTF_8)) + 200;
        byte[] damaged = whole.clone();
        damaged[at] ^= 1;
        Files.write(slice, damaged);
        int missing = 0;
        try (SliceRecording sliced = home.open(slice);
                CallRecording.Handled handled = sliced.handled(sliced.workers().get(1), MessageFilter.ALL)) {
            for (RecordedCall call = handled.next(); call != null; call = handled.next()) {
                for (RecordedMessage message :
                        List.of(call.request(), call.response().orElseThrow())) {
                    try {
                        sliced.tensors(message)
                                .forEach(tensor -> tensor.storage().release());
                    } catch (NotRecordedException e) {
                        assertThat(e.getMessage()).contains("the slice is damaged", "checksum");
                        missing++;
                    }
                }
            }
            assertThat(missing).isEqualTo(1);
            assertThat(sliced.liveTensorBytes()).isZero();
        }
    }

    private static int indexOf(byte[] bytes, byte[] sought) {
        for (int at = 0; at <= bytes.length - sought.length; at++) {
            if (Arrays.equals(bytes, at, at + sought.length, sought, 0, sought.length)) {
                return at;
            }
        }
        throw new AssertionError("not there");
    }
}
