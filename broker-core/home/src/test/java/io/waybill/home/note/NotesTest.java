package io.waybill.home.note;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.ErrorCode;
import io.waybill.home.note.NotedOutcomes.Noted;
import io.waybill.home.note.NotedOutcomes.Reader;
import io.waybill.home.note.Responders.Responder;
import io.waybill.host.Host;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a worker notes beside its journal is read back, however the files look. */
@Timeout(60)
class NotesTest {

    private static final int ENTRIES = OutcomesLayout.MAX;

    @TempDir
    private Path directory;

    private final Host host = Host.real();
    private Path worker;

    @BeforeEach
    void open() throws IOException {
        worker = host.files().createPrivateDirectory(directory.resolve("7-a"));
    }

    private Optional<ErrorCode> codeOf(long id) throws IOException {
        return Reader.of(worker, host).of(id).map(Noted::code);
    }

    @Test
    void readsOutcomesOfSeveralIncarnationsTheLastOfEachCall() throws IOException {
        assertThat(codeOf(1)).isEmpty();
        try (NotedOutcomes first = new NotedOutcomes(worker, host)) {
            first.note(1, ErrorCode.TIMED_OUT);
            first.note(2, ErrorCode.WORKER_LOST);
        }
        try (NotedOutcomes second = new NotedOutcomes(worker, host)) {
            second.note(1, ErrorCode.CLOSED); // it was repeated
            assertThat(codeOf(1)).as("while it is open").contains(ErrorCode.CLOSED);
        }
        assertThat(codeOf(1)).contains(ErrorCode.CLOSED);
        assertThat(codeOf(2)).contains(ErrorCode.WORKER_LOST);
        assertThat(Reader.of(worker, host).of(2).orElseThrow().atNs()).isPositive();
        assertThat(Reader.of(worker, host).reachesTo(0)).as("all are there").isTrue();
    }

    @Test
    void keepsTheNewestOfMany() throws IOException {
        long beganNs = host.clock().wallNs();
        try (NotedOutcomes outcomes = new NotedOutcomes(worker, host)) {
            for (int id = 0; id < ENTRIES + 10; id++) {
                outcomes.note(id, ErrorCode.TIMED_OUT);
            }
        }
        try (NotedOutcomes outcomes = new NotedOutcomes(worker, host)) {
            outcomes.note(ENTRIES + 10, ErrorCode.CLOSED);
        }
        assertThat(codeOf(10)).as("the eleventh was replaced last").isEmpty();
        assertThat(codeOf(11)).contains(ErrorCode.TIMED_OUT);
        assertThat(codeOf(ENTRIES + 9)).contains(ErrorCode.TIMED_OUT);
        assertThat(codeOf(ENTRIES + 10)).contains(ErrorCode.CLOSED);
        assertThat(Reader.of(worker, host).reachesTo(beganNs)).isFalse();
        assertThat(Reader.of(worker, host).reachesTo(host.clock().wallNs())).isTrue();
        assertThat(OutcomesLayout.in(worker)).hasSize(OutcomesLayout.MAX_BYTES);
    }

    @Test
    void skipsWhatIsDamagedAndReplacesWhatItDoesNotKnow() throws IOException {
        try (NotedOutcomes outcomes = new NotedOutcomes(worker, host)) {
            outcomes.note(1, ErrorCode.TIMED_OUT);
            outcomes.note(2, ErrorCode.TIMED_OUT);
        }
        Path file = OutcomesLayout.in(worker);
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            ByteBuffer one = OutcomesLayout.allocate(1);
            channel.read(one, OutcomesLayout.offset(0) + 8L);
            one.put(0, (byte) ~one.get(0)).flip();
            channel.write(one, OutcomesLayout.offset(0) + 8L);
            channel.truncate(OutcomesLayout.offset(2) - 1L);
        }
        assertThat(codeOf(1)).isEmpty();
        assertThat(codeOf(2)).as("cut short").isEmpty();
        try (NotedOutcomes outcomes = new NotedOutcomes(worker, host)) {
            outcomes.note(3, ErrorCode.CLOSED);
        }
        assertThat(codeOf(3)).contains(ErrorCode.CLOSED);

        Files.write(file, new byte[100]);
        assertThat(codeOf(3)).isEmpty();
        try (NotedOutcomes outcomes = new NotedOutcomes(worker, host)) {
            outcomes.note(4, ErrorCode.CLOSED);
        }
        assertThat(codeOf(4)).contains(ErrorCode.CLOSED);
    }

    @Test
    void dropsWhatItCanNotWrite() throws IOException {
        Files.createDirectory(OutcomesLayout.in(worker));
        NotedOutcomes outcomes = new NotedOutcomes(worker, host);
        outcomes.note(1, ErrorCode.TIMED_OUT);
        Files.delete(OutcomesLayout.in(worker));
        outcomes.note(2, ErrorCode.TIMED_OUT);
        outcomes.close();
        outcomes.note(3, ErrorCode.TIMED_OUT);
        assertThat(codeOf(2)).contains(ErrorCode.TIMED_OUT);
        assertThat(codeOf(3)).isEmpty();
    }

    @Test
    void namesBundlesByTheirNumbers() throws IOException {
        Responder one = new Responder(-5, "org.acme.a", "1.0.0");
        Responder two = new Responder(6, "(a\tprogram)", "");
        Responders.add(worker, List.of(one), host.files());
        Responders.add(worker, List.of(one, two), host.files());
        assertThat(Responders.read(worker, host.files()).values())
                .extracting(Responder::toString)
                .containsExactly("org.acme.a 1.0.0", "(a?program)");
        assertThat(Responders.read(worker, host.files())).containsKeys(-5L, 6L);
        Files.writeString(worker.resolve("responders"), "no line\n00000000000000ff\torg.acme.b\t2.0.0\n");
        assertThat(Responders.read(worker, host.files()).get(255L)).hasToString("org.acme.b 2.0.0");
    }
}
