package io.waybill.query;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.home.Home;
import io.waybill.host.Host;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.RetentionSettings;
import io.waybill.journal.Roll;
import io.waybill.query.verify.Finding;
import io.waybill.query.verify.Finding.Severity;
import io.waybill.query.verify.Verification;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Files of a worker that were lost, cut or replaced, one at a time: {@code verify} names the file and its owner. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class VerifyLossTest {

    private static final int CALLS = 300;
    private static final String LEFT = "left";
    private static final String RIGHT = "right";

    @TempDir
    private static Path shared;

    @TempDir
    private Path directory;

    private final List<Finding> findings = new ArrayList<>();

    /** Two workers that called each other and left: both queues of both have records, and both have read them. */
    @BeforeAll
    static void callEachOther() throws IOException {
        try (Workers workers = new Workers(shared)) {
            Worker left = workers.join(LEFT, echo(workers));
            Worker right = workers.join(RIGHT, echo(workers));
            callMany(left, RIGHT, CALLS, 256);
            callMany(right, LEFT, CALLS, 256);
        }
    }

    private static HandlerRegistry echo(Workers workers) {
        HandlerRegistry registry = workers.registry();
        workers.handleOnPoller(registry, "0x142", (message, outbox) -> outbox.respond(message.payload()));
        return registry;
    }

    private static void callMany(Worker caller, String to, int calls, int bytes) {
        for (int i = 0; i < calls; i++) {
            Request request = Request.raw(to, MessageType.userRequest(0x42), ByteBuffer.allocate(bytes), List.of());
            try (Response response = caller.call(request)) {
                assertThat(response.payload().remaining()).isEqualTo(bytes);
            }
        }
    }

    private enum Harm {
        DELETED,
        CUT_TO_ZERO,
        CUT_TO_HALF,
        GARBAGE,
        /** By the other worker's. */
        REPLACED,
        /** A directory. */
        EMPTIED,
        /** A directory. */
        REMOVED
    }

    private Path copyOfHome() throws Exception {
        Path home = directory.resolve("home");
        assertThat(new ProcessBuilder("cp", "-a", shared.resolve("home").toString(), home.toString())
                        .inheritIO()
                        .start()
                        .waitFor())
                .isZero();
        return home;
    }

    private static Path worker(Path home, String name) throws IOException {
        return only(home.resolve("workers"), "-" + name);
    }

    private static Path only(Path directory, String suffix) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.filter(path -> path.toString().endsWith(suffix))
                    .max(Comparator.naturalOrder())
                    .orElseThrow();
        }
    }

    private static Path resolve(Path worker, String file) throws IOException {
        Path path = worker.resolve(file);
        return file.endsWith(".cq4") ? only(path.getParent(), ".cq4") : path;
    }

    private static void harm(Path file, Harm harm, Path other) throws IOException {
        switch (harm) {
            case DELETED -> Files.delete(file);
            case CUT_TO_ZERO -> cut(file, 0);
            case CUT_TO_HALF -> cut(file, written(file) / 2);
            case GARBAGE -> {
                byte[] garbage = new byte[(int) written(file) / 2];
                new Random(7).nextBytes(garbage);
                try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
                    channel.write(ByteBuffer.wrap(garbage));
                }
            }
            case REPLACED -> {
                Files.delete(file);
                Files.copy(other, file);
            }
            case EMPTIED -> empty(file);
            case REMOVED -> {
                empty(file);
                Files.delete(file);
            }
        }
    }

    /** Up to the last byte that is not zero: behind it space is only reserved. */
    private static long written(Path file) throws IOException {
        byte[] bytes = Files.readAllBytes(file);
        int end = bytes.length;
        while (end > 0 && bytes[end - 1] == 0) {
            end--;
        }
        return end;
    }

    private static void cut(Path file, long bytes) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.truncate(bytes);
        }
    }

    private static void empty(Path directory) throws IOException {
        if (!Files.exists(directory)) {
            return;
        }
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                if (!file.equals(directory)) {
                    Files.delete(file);
                }
            }
        }
    }

    private Verification verify(Path home) throws IOException {
        findings.clear();
        try (HomeJournals journals = HomeJournals.open(Home.openDamaged(home, Host.real()))) {
            return journals.verify(findings::add);
        }
    }

    private List<Finding> damages() {
        return findings.stream().filter(Finding::isDamage).toList();
    }

    private static boolean names(Finding finding, String worker, Path file) {
        return finding.worker().filter(info -> info.name().equals(worker)).isPresent()
                && finding.file()
                        .filter(found -> found.startsWith(file) || file.startsWith(found))
                        .isPresent()
                && finding.text().length() > 10;
    }

    @Test
    void findsNothingInWhatTheyLeft() throws Exception {
        assertThat(verify(shared.resolve("home")).isWhole())
                .as(findings.toString())
                .isTrue();
        assertThat(findings).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({
        "requests/*.cq4,DELETED",
        "requests/*.cq4,CUT_TO_ZERO",
        "requests/*.cq4,CUT_TO_HALF",
        "requests/*.cq4,GARBAGE",
        "requests/*.cq4,REPLACED",
        "requests,EMPTIED",
        "requests,REMOVED",
        "responses/*.cq4,DELETED",
        "responses/*.cq4,CUT_TO_ZERO",
        "responses/*.cq4,CUT_TO_HALF",
        "responses/*.cq4,GARBAGE",
        "responses/*.cq4,REPLACED",
        "responses,EMPTIED",
        "responses,REMOVED",
        "responses/metadata.cq4t,CUT_TO_ZERO",
        "responses/metadata.cq4t,CUT_TO_HALF",
        "responses/metadata.cq4t,GARBAGE",
        "requests/metadata.cq4t,CUT_TO_ZERO",
        "requests/metadata.cq4t,GARBAGE",
        "cursors,DELETED",
        "cursors,CUT_TO_ZERO",
        "cursors,CUT_TO_HALF",
        "cursors,GARBAGE",
        "cursors,REPLACED",
        "worker.json,CUT_TO_ZERO",
        "worker.json,GARBAGE",
        "worker.json,REPLACED",
        "'',EMPTIED",
        "'',REMOVED"
    })
    void namesTheFileAndItsOwner(String file, Harm harm) throws Exception {
        Path home = copyOfHome();
        Path worker = worker(home, LEFT);
        empty(worker.resolve("index")); // which may say it, and may be gone as well
        Path path = resolve(worker, file);
        harm(path, harm, resolve(worker(home, RIGHT), file));
        assertThat(verify(home).isWhole()).as(findings.toString()).isFalse();
        assertThat(damages()).anyMatch(finding -> names(finding, LEFT, path));
    }

    /** Nothing is lost with these: their owner makes them from scratch when it starts. */
    @ParameterizedTest
    @CsvSource({"requests/metadata.cq4t", "responses/metadata.cq4t", "worker.json"})
    void notesWhatIsDerivedAndGone(String file) throws Exception {
        Path home = copyOfHome();
        Path path = resolve(worker(home, LEFT), file);
        Files.delete(path);
        assertThat(verify(home).isWhole()).as(findings.toString()).isTrue();
        assertThat(findings).anyMatch(finding -> finding.severity() == Severity.NOTE && names(finding, LEFT, path));
    }

    /** With the table gone too, only what others have read and responded to tells that the records were there. */
    @ParameterizedTest
    @CsvSource({"requests", "responses"})
    void findsAnOlderCopyInTheFilesPlace(String queue) throws Exception {
        Path home = directory.resolve("home");
        Path older;
        Path file;
        try (Workers workers = new Workers(directory)) {
            Worker left = workers.join(LEFT, echo(workers));
            Worker right = workers.join(RIGHT, echo(workers));
            callMany(left, RIGHT, 10, 64);
            callMany(right, LEFT, 10, 64);
            file = resolve(worker(home, LEFT), queue + "/*.cq4");
            older = Files.copy(file, directory.resolve("older"));
            callMany(left, RIGHT, 10, 64);
            callMany(right, LEFT, 10, 64);
        }
        Files.delete(file);
        Files.copy(older, file);
        Files.delete(file.resolveSibling("metadata.cq4t"));
        empty(worker(home, LEFT).resolve("index"));
        assertThat(verify(home).isWhole()).as(findings.toString()).isFalse();
        assertThat(damages()).allMatch(finding -> finding.text().length() > 10);
        assertThat(damages()).anyMatch(finding -> names(finding, LEFT, file));
    }

    @Test
    void takesNoRemovalOfOldFilesForDamage() throws Exception {
        WorkerSettings settings = Workers.SETTINGS.toBuilder()
                .journal(new JournalSettings(Roll.MINUTELY, 4 << 20, 1 << 20, 1 << 20).withFileBytes(1 << 20))
                .retention(RetentionSettings.DEFAULTS.withMaxCycles(2))
                .build();
        Path home = directory.resolve("home");
        try (Workers workers = new Workers(directory)) {
            Worker left = workers.join(LEFT, echo(workers), settings);
            Worker right = workers.join(RIGHT, echo(workers), settings);
            callMany(right, LEFT, 10, 64);
            callMany(left, RIGHT, 100, 64 << 10);
            Path requests = worker(home, LEFT).resolve("requests");
            Path responses = worker(home, RIGHT).resolve("responses");
            String first = oldest(requests);
            String firstResponses = oldest(responses);
            while (oldest(requests).equals(first) || oldest(responses).equals(firstResponses)) {
                callMany(left, RIGHT, 5, 64 << 10); // until the class's timeout: looks are once a second
            }
            assertThat(verify(home).isWhole()).as(findings.toString()).isTrue();
        }
        assertThat(verify(home).isWhole()).as(findings.toString()).isTrue();
        assertThat(findings).anyMatch(finding -> finding.text().contains("older files were removed"));
    }

    private static String oldest(Path queue) throws IOException {
        try (Stream<Path> files = Files.list(queue)) {
            return files.map(path -> path.getFileName().toString())
                    .filter(name -> name.endsWith(".cq4"))
                    .min(Comparator.naturalOrder())
                    .orElseThrow();
        }
    }
}
