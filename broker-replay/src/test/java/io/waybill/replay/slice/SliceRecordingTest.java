package io.waybill.replay.slice;

import static io.waybill.replay.RecordedHome.handled;
import static io.waybill.replay.RecordedHome.ids;
import static io.waybill.replay.RecordedHome.worker;
import static io.waybill.replay.slice.SlicedHome.ASK;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIOException;

import io.waybill.api.MessageType;
import io.waybill.api.journal.CallRecord.Outcome;
import io.waybill.api.tensor.Tensor;
import io.waybill.query.MessageFilter;
import io.waybill.query.stored.Payload;
import io.waybill.replay.Replay;
import io.waybill.replay.recording.CallRecording;
import io.waybill.replay.recording.HomeRecording;
import io.waybill.replay.recording.MessageReferences;
import io.waybill.replay.recording.NotRecordedException;
import io.waybill.replay.recording.RecordedCall;
import io.waybill.replay.recording.RecordedMessage;
import io.waybill.rref.id.RRefId;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Slices of homes that real workers wrote, beside those homes. */
@Timeout(180)
class SliceRecordingTest {

    @TempDir
    private Path directory;

    private SlicedHome home;
    private Path slice;

    @BeforeEach
    void open() throws IOException {
        home = new SlicedHome(directory);
        slice = directory.resolve("calls.slice");
    }

    @AfterEach
    void close() throws IOException {
        home.close();
    }

    private static MessageFilter.Builder asked(CallRecording recording) {
        return new MessageFilter.Builder().peer(worker(recording, "front").id()).type(ASK);
    }

    private MessageFilter asked() throws IOException {
        try (CallRecording recording = home.recording()) {
            return asked(recording).build();
        }
    }

    private static RecordView view(RecordedMessage message) {
        return message.in(new MessageBuffer());
    }

    private static void requireSame(RecordedMessage found, RecordedMessage expected) {
        assertThat(found.worker()).isEqualTo(expected.worker());
        assertThat(found.queue()).isEqualTo(expected.queue());
        assertThat(found.fileName()).isEqualTo(expected.fileName());
        assertThat(found.record()).isEqualTo(expected.record());
    }

    private static void requireSame(RecordedCall found, RecordedCall expected) {
        assertThat(found.id()).isEqualTo(expected.id());
        requireSame(found.request(), expected.request());
        assertThat(found.response()).isPresent();
        requireSame(found.response().get(), expected.response().orElseThrow());
    }

    private static List<ByteBuffer> tensors(CallRecording recording, RecordedMessage message) throws Exception {
        List<ByteBuffer> all = new ArrayList<>();
        for (Tensor tensor : recording.tensors(message)) {
            byte[] bytes = new byte[(int) tensor.storage().sizeBytes()];
            tensor.storage().bytes(0, bytes.length).get(bytes);
            tensor.storage().release();
            all.add(ByteBuffer.wrap(bytes));
        }
        return all;
    }

    @Test
    void hasTheMessagesTensorsAndNestedCallsOfItsHome() throws Exception {
        home.calls(1000);
        SliceInfo info = home.slice(asked(), Payloads.FULL, slice);
        assertThat(info.problems()).isEmpty();
        assertThat(info.calls()).isEqualTo(1000);
        assertThat(info.storages()).isEqualTo(80);
        int nested = 0;
        try (HomeRecording recorded = home.recording();
                SliceRecording sliced = home.open(slice)) {
            assertThat(sliced.workers()).isEqualTo(recorded.workers());
            assertThat(sliced.withheld()).isEmpty();
            List<RecordedCall> expected =
                    handled(recorded, "front", asked(recorded).build());
            List<RecordedCall> found = handled(sliced, "front", MessageFilter.ALL);
            assertThat(ids(found)).isEqualTo(ids(expected));
            for (int i = 0; i < found.size(); i++) {
                RecordedCall call = expected.get(i);
                requireSame(found.get(i), call);
                requireSame(sliced.call(call.id()).orElseThrow(), call);
                for (RecordedMessage message :
                        List.of(call.request(), call.response().orElseThrow())) {
                    assertThat(tensors(sliced, message)).hasSize(1).isEqualTo(tensors(recorded, message));
                }
                List<RecordedCall> below = recorded.nested(call);
                assertThat(ids(sliced.nested(call))).isEqualTo(ids(below));
                for (int k = 0; k < below.size(); k++) {
                    requireSame(sliced.nested(call).get(k), below.get(k));
                }
                nested += below.size();
            }
            assertThat(nested).isEqualTo((int) info.needed()).isGreaterThan(90);
            assertThat(handled(sliced, "store", MessageFilter.ALL)).isEmpty();
            assertThat(sliced.liveTensorBytes()).isZero();
        }
    }

    @Test
    void takesWhatTheFilterTakes() throws Exception {
        home.calls(60);
        home.slice(asked(), Payloads.FULL, slice);
        try (SliceRecording sliced = home.open(slice)) {
            long id = handled(sliced, "front", MessageFilter.ALL).get(7).id();
            assertThat(ids(handled(
                            sliced,
                            "front",
                            new MessageFilter.Builder().ids(id, id).build())))
                    .containsExactly(id);
            assertThat(handled(
                            sliced, "front", asked(sliced).outcome(Outcome.OK).build()))
                    .hasSize(60);
            assertThat(handled(
                            sliced,
                            "front",
                            asked(sliced).outcome(Outcome.ERROR).build()))
                    .isEmpty();
            assertThat(handled(sliced, "front", asked(sliced).until(1).build())).isEmpty();
            assertThat(handled(
                            sliced,
                            "front",
                            asked(sliced).worker(worker(sliced, "store").id()).build()))
                    .isEmpty();
        }
    }

    @Test
    void isTheSameFileForTheSameCalls() throws Exception {
        home.calls(100);
        home.slice(asked(), Payloads.FULL, slice);
        Path again = directory.resolve("again.slice");
        home.slice(asked(), Payloads.FULL, again);
        assertThat(Files.mismatch(slice, again)).isEqualTo(-1);
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(slice)))
                .isEqualTo("rw-------");
        assertThatIOException().isThrownBy(() -> home.slice(asked(), Payloads.FULL, again));
        assertThat(directory.resolve(".again.slice.new")).doesNotExist();
    }

    @Test
    void bringsTheRequestsThatMadeTheValues() throws Exception {
        home.references();
        MessageFilter filter =
                new MessageFilter.Builder().type(MessageType.SCRIPT_CALL).build();
        SliceInfo info = home.slice(filter, Payloads.FULL, slice);
        assertThat(info.problems()).isEmpty();
        assertThat(info.calls()).isEqualTo(1);
        try (HomeRecording recorded = home.recording();
                SliceRecording sliced = home.open(slice)) {
            RecordedCall call = handled(sliced, "front", MessageFilter.ALL).get(0);
            RRefId second = MessageReferences.needed(view(call.request())).get(0);
            RecordedCall madeSecond = sliced.creation(second).orElseThrow();
            requireSame(madeSecond, recorded.creation(second).orElseThrow());
            RRefId first = MessageReferences.needed(view(madeSecond.request())).get(0);
            assertThat(MessageReferences.created(
                            view(sliced.creation(first).orElseThrow().request())))
                    .contains(first);
            assertThat(sliced.creation(new RRefId(first.createdOn(), 1L << 40))).isEmpty();
            assertThat(recorded.creation(new RRefId(first.createdOn(), 1L << 40)))
                    .isEmpty();
        }
    }

    @Test
    void canHaveDigestsInPlaceOfPayloads() throws Exception {
        home.calls(60);
        SliceInfo info = home.slice(asked(), Payloads.DIGEST, slice);
        assertThat(info.storages()).isZero();
        try (HomeRecording recorded = home.recording();
                SliceRecording sliced = home.open(slice)) {
            assertThat(sliced.withheld())
                    .hasValueSatisfying(text -> assertThat(text).endsWith("--payloads digest"));
            List<RecordedCall> expected =
                    handled(recorded, "front", asked(recorded).build());
            List<RecordedCall> found = handled(sliced, "front", MessageFilter.ALL);
            assertThat(ids(found)).isEqualTo(ids(expected));
            RecordedMessage request = found.get(0).request();
            byte[] payload = view(expected.get(0).request()).copyPayload();
            assertThat(sliced.payloadDigest(request))
                    .hasValue(MessageDigest.getInstance("SHA-256").digest(payload));
            assertThat(view(request).copyPayload()).isEmpty();
            assertThatExceptionOfType(NotRecordedException.class)
                    .isThrownBy(() -> sliced.tensors(request))
                    .withMessageContaining("--payloads digest");
        }
    }

    @Test
    void canLeavePayloadsOutAndKeepsTheNamesOfOperations() throws Exception {
        home.references();
        home.slice(MessageFilter.ALL, Payloads.NONE, slice);
        try (SliceRecording sliced = home.open(slice)) {
            MessageFilter named = new MessageFilter.Builder()
                    .type(MessageType.SCRIPT_CALL)
                    .operation("test::same")
                    .build();
            RecordView request = view(handled(sliced, "front", named).get(0).request());
            assertThat(Payload.operationOf(request)).contains("test::same");
            assertThat(request.payloadLength()).isEqualTo(2 + "test::same".length());
            assertThat(request.hasReferences()).isFalse();
            assertThat(sliced.payloadDigest(
                            handled(sliced, "front", named).get(0).request()))
                    .isEmpty();
        }
    }

    @Test
    void saysWhichBundlesTheWorkersHad() throws Exception {
        home.calls(20);
        Path bundles = Files.createDirectory(home.home.directory("front").resolve("bundles"));
        Path jar = bundles.resolve("word-count.jar");
        Manifest manifest = new Manifest();
        Attributes main = manifest.getMainAttributes();
        main.put(Attributes.Name.MANIFEST_VERSION, "1.0");
        main.putValue("Bundle-ManifestVersion", "2");
        main.putValue("Bundle-SymbolicName", "org.acme.word-count");
        main.putValue("Bundle-Version", "1.2.3");
        try (OutputStream out = Files.newOutputStream(jar);
                JarOutputStream written = new JarOutputStream(out, manifest)) {
            written.finish();
        }
        Files.write(bundles.resolve("broken.jar"), new byte[10]);
        home.slice(asked(), Payloads.FULL, slice);
        try (SliceRecording sliced = home.open(slice)) {
            SliceInfo.Member front = sliced.info().workers().stream()
                    .filter(member -> member.worker().name().equals("front"))
                    .findFirst()
                    .orElseThrow();
            assertThat(front.version()).isNotEmpty();
            assertThat(front.bundles()).hasSize(1).allSatisfy(bundle -> {
                assertThat(bundle.file()).isEqualTo("bundles/word-count.jar");
                assertThat(bundle.symbolicName()).isEqualTo("org.acme.word-count");
                assertThat(bundle.version()).isEqualTo("1.2.3");
                assertThat(bundle.sha256()).hasSize(64);
            });
            assertThat(sliced.problems()).anyMatch(problem -> problem.contains("broken.jar"));
        }
    }

    @Test
    void isARecordingLikeAHome() throws Exception {
        home.calls(20);
        home.slice(asked(), Payloads.FULL, slice);
        try (CallRecording sliced = Replay.open(slice, home.home.workers.host);
                CallRecording recorded = Replay.open(home.home.path(), home.home.workers.host)) {
            assertThat(sliced).isInstanceOf(SliceRecording.class);
            assertThat(recorded).isInstanceOf(HomeRecording.class);
        }
        assertThat(ByteBuffer.wrap(Files.readAllBytes(slice)).getInt()).isEqualTo(0x504b0304); // that of a zip file
    }
}
