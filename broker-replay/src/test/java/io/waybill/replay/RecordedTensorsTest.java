package io.waybill.replay;

import static io.waybill.replay.RecordedHome.handled;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.journal.CallRecord;
import io.waybill.api.journal.JournalReader;
import io.waybill.api.journal.MessageRecord;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.archive.ArchiveSettings;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.query.JournalAccess;
import io.waybill.query.MessageFilter;
import io.waybill.replay.recording.HomeRecording;
import io.waybill.replay.recording.NotRecordedException;
import io.waybill.replay.recording.RecordedCall;
import io.waybill.replay.recording.RecordedMessage;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tensors of recorded messages, made again. */
@Timeout(120)
class RecordedTensorsTest {

    private static final MessageFilter ECHOES =
            new MessageFilter.Builder().type(MessageType.userRequest(0x42)).build();

    @TempDir
    private Path directory;

    private RecordedHome home;
    private Worker server;

    @BeforeEach
    void open() throws IOException {
        home = new RecordedHome(directory);
        HandlerRegistry handlers = home.workers.registry();
        home.workers.handle(handlers, "0x142", (message, outbox) -> {
            message.tensors().forEach(tensor -> tensor.storage().retain());
            outbox.respond(message.payload(), message.tensors());
        });
        server = home.join("server", handlers);
    }

    @AfterEach
    void close() throws IOException {
        home.close();
    }

    private static Tensor bytes(Worker worker, int length, int seed) {
        Storage storage = worker.buffers().allocate(length);
        storage.bytes(0, length).put(expected(length, seed));
        return Tensor.contiguous(DType.UINT8, new long[] {length}, storage);
    }

    private static byte[] expected(int length, int seed) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) (i * 31 + seed);
        }
        return bytes;
    }

    private static byte[] content(Tensor tensor) {
        byte[] bytes = new byte[(int) tensor.storage().sizeBytes()];
        tensor.storage().bytes(0, bytes.length).get(bytes);
        return bytes;
    }

    private static void call(Worker caller, Tensor... tensors) {
        caller.call(Request.raw("server", MessageType.userRequest(0x42), ByteBuffer.allocate(1), List.of(tensors)))
                .close();
        for (Tensor tensor : tensors) {
            tensor.storage().release();
        }
    }

    @Test
    void areThoseOfTheMessage() throws Exception {
        Worker caller = home.join("caller");
        call(caller, bytes(caller, 100, 1), bytes(caller, 500_000, 2));
        caller.close();
        server.close();
        try (HomeRecording recording = home.recording()) {
            RecordedCall call = handled(recording, "server", ECHOES).get(0);
            for (RecordedMessage message :
                    List.of(call.request(), call.response().orElseThrow())) {
                List<Tensor> tensors = recording.tensors(message);
                assertThat(tensors).hasSize(2);
                assertThat(tensors.get(1).sizes()).containsExactly(500_000);
                assertThat(content(tensors.get(0))).isEqualTo(expected(100, 1));
                assertThat(content(tensors.get(1))).isEqualTo(expected(500_000, 2));
                tensors.forEach(tensor -> tensor.storage().release());
            }
            assertThat(recording.liveTensorBytes()).isZero();
        }
    }

    @Test
    void shareTheStorageThatTheyShared() throws Exception {
        Worker caller = home.join("caller");
        Tensor whole = bytes(caller, 8000, 5);
        Tensor part = new Tensor(
                DType.UINT8,
                new long[] {6000},
                new long[] {1},
                1000,
                false,
                whole.storage().retain());
        call(caller, whole, part);
        caller.close();
        server.close();
        try (HomeRecording recording = home.recording()) {
            RecordedCall call = handled(recording, "server", ECHOES).get(0);
            List<Tensor> tensors = recording.tensors(call.request());
            assertThat(tensors.get(1).storage()).isSameAs(tensors.get(0).storage());
            assertThat(tensors.get(1).storageOffset()).isEqualTo(1000);
            assertThat(recording.liveTensorBytes()).isEqualTo(8000);
            tensors.forEach(tensor -> tensor.storage().release());
            assertThat(recording.liveTensorBytes()).isZero();
        }
    }

    @Test
    void sayWhichWasNotKeptAndWhy() throws Exception {
        Worker caller = home.workers.join(
                "caller",
                home.workers.registry(),
                RecordedHome.SETTINGS.toBuilder().archive(ArchiveSettings.NONE).build());
        call(caller, bytes(caller, 100, 1), bytes(caller, 500_000, 2));
        caller.close();
        server.close();
        try (HomeRecording recording = home.recording()) {
            RecordedCall call = handled(recording, "server", ECHOES).get(0);
            assertThatExceptionOfType(NotRecordedException.class)
                    .isThrownBy(() -> recording.tensors(call.request()))
                    .withMessageContaining("tensor 1 of the request ")
                    .withMessageContaining("500000 bytes")
                    .withMessageContaining("not archived: ");
            assertThat(recording.liveTensorBytes()).isZero();
        }
    }

    private Path archiveOfRequests() throws IOException {
        try (Stream<Path> all = Files.walk(home.directory("caller").resolve("archive"))) {
            return all.filter(Files::isRegularFile)
                    .filter(path -> path.toString().contains("requests"))
                    .findFirst()
                    .orElseThrow();
        }
    }

    /** Reads bytes of a tensor of the only request, as a bundle does. */
    private byte[] read(int tensor, long offset, int length) throws IOException {
        try (JournalAccess journals = new JournalAccess(home.workers.home);
                JournalReader reader = journals.open()) {
            List<CallRecord> calls = new ArrayList<>();
            reader.list(reader.query().type(MessageType.userRequest(0x42)), 0, calls::add);
            assertThat(calls).hasSize(1);
            MessageRecord request = calls.get(0).request();
            Tensor described = reader.content(request).orElseThrow().tensors().get(tensor);
            ByteBuffer to = ByteBuffer.allocate(length);
            reader.read(request, described, offset, to);
            assertThat(to.hasRemaining()).isFalse();
            return to.array();
        }
    }

    @Test
    void areReadInPartsByReadersOfTheJournals() throws Exception {
        Worker caller = home.join("caller");
        call(caller, bytes(caller, 100, 1), bytes(caller, 500_000, 2));
        caller.close();
        server.close();
        assertThat(read(0, 40, 20)).isEqualTo(Arrays.copyOfRange(expected(100, 1), 40, 60));
        assertThat(read(1, 0, 500_000)).isEqualTo(expected(500_000, 2));
        assertThat(read(1, 200_000, 300_000)).isEqualTo(Arrays.copyOfRange(expected(500_000, 2), 200_000, 500_000));
        assertThatExceptionOfType(IllegalArgumentException.class)
                .isThrownBy(() -> read(1, 200_001, 300_000))
                .withMessage("expected a part of 500000 bytes, found 300000 bytes at 200001");
        byte[] content = Files.readAllBytes(archiveOfRequests());
        content[300_000] ^= 1;
        Files.write(archiveOfRequests(), content);
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> read(1, 0, 500_000))
                .withMessageContaining("the bytes of the tensor are damaged");
        assertThat(read(1, 0, 10)).as("a part is not verified").isEqualTo(Arrays.copyOf(expected(500_000, 2), 10));
        Files.write(archiveOfRequests(), Arrays.copyOf(content, 200_000));
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> read(1, 400_000, 10))
                .withMessageContaining("the bytes of the tensor are");
    }

    @Test
    void areMissedByReadersOfTheJournalsWhenTheyWereNotKept() throws Exception {
        Worker caller = home.workers.join(
                "caller",
                home.workers.registry(),
                RecordedHome.SETTINGS.toBuilder().archive(ArchiveSettings.NONE).build());
        call(caller, bytes(caller, 500_000, 2));
        caller.close();
        server.close();
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> read(0, 0, 10))
                .withMessageContaining("the bytes of the tensor are not on record: not archived");
    }

    @Test
    void areNotMadeOfAnArchiveThatIsDamaged() throws Exception {
        Worker caller = home.join("caller");
        call(caller, bytes(caller, 500_000, 2));
        caller.close();
        server.close();
        Path archive = archiveOfRequests();
        byte[] content = Files.readAllBytes(archive);
        content[300_000] ^= 1;
        Files.write(archive, content);
        try (HomeRecording recording = home.recording()) {
            RecordedCall call = handled(recording, "server", ECHOES).get(0);
            assertThatExceptionOfType(NotRecordedException.class)
                    .isThrownBy(() -> recording.tensors(call.request()))
                    .withMessageContaining("tensor 0 of the request ")
                    .withMessageContaining("damaged");
            assertThat(recording.liveTensorBytes()).isZero();
        }
        Files.write(archive, Arrays.copyOf(content, 200_000));
        try (HomeRecording recording = home.recording()) {
            RecordedCall call = handled(recording, "server", ECHOES).get(0);
            assertThatExceptionOfType(NotRecordedException.class).isThrownBy(() -> recording.tensors(call.request()));
            assertThat(recording.liveTensorBytes()).isZero();
        }
    }
}
