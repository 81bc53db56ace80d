package io.waybill.replay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.Invocation;
import io.waybill.api.RRef;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.osgi.BundleForge;
import io.waybill.osgi.OsgiHost;
import io.waybill.osgi.OsgiSettings;
import io.waybill.osgi.jar.BundleRefusedException;
import io.waybill.osgi.whiteboard.DeviceConverters;
import io.waybill.replay.compare.ReplayedCall;
import io.waybill.replay.compare.Verdict;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Replays with the bundles that a node had, and with candidates in their place. */
@Timeout(180)
class CandidateBundleTest {

    private static final NodeDistribution DISTRIBUTION = NodeDistribution.of(Path.of("target/system-bundles"));
    private static final int CALLS = 200;
    private static final Duration LIMIT = Duration.ofSeconds(60);

    @TempDir
    private Path directory;

    private BundleForge forge;
    private Path home;

    @BeforeEach
    void record() throws IOException, BundleRefusedException {
        forge = new BundleForge(Files.createDirectory(directory.resolve("jars")));
        home = record(directory, List.of(jar("1.0.0", "n * n")), caller -> {
            for (int n = 0; n < CALLS; n++) {
                Request request = Request.operation("node", "math.square");
                request.body().int64("n", n);
                caller.call(request).close();
            }
        });
    }

    /** Records what a program calls on a node with bundles. Returns the home, which lies in the directory. */
    private static Path record(Path directory, List<Path> bundles, Consumer<Worker> program)
            throws IOException, BundleRefusedException {
        try (Workers workers = new Workers(directory)) {
            HandlerRegistry registry = workers.registry();
            Worker node = workers.join("node", registry);
            OsgiSettings settings = OsgiSettings.builder(
                            DISTRIBUTION.bundles(),
                            node.directory().subdirectory("bundles"),
                            node.directory().subdirectory("osgi"),
                            directory.resolve("conf"))
                    .build();
            try (OsgiHost osgi =
                    OsgiHost.start(settings, registry, DeviceConverters.into(node.devices()), workers.host)) {
                for (Path bundle : bundles) {
                    osgi.bundles().install(bundle);
                }
                program.accept(workers.join("caller"));
            }
            return workers.home.path();
        }
    }

    private Path jar(String version, String square) throws IOException {
        return forge.bundle("org.acme.math", version)
                .source("Square", """
                        @Component @HandlesMessage("math.square")
                        public final class Square implements MessageHandler {
                            @Override
                            public void handle(Message message, Outbox outbox) throws RejectedMessageException {
                                long n = message.int64("n");
                                outbox.response().int64("square", %s);
                            }
                        }
                        """.formatted(square))
                .build();
    }

    @Test
    void runsTheBundlesThatTheNodeHad() throws IOException {
        ReplayReport report = Replay.of(home).in(DISTRIBUTION).run();
        assertThat(report.rows()).singleElement().satisfies(row -> {
            assertThat(row.candidate()).isEqualTo(Replay.INSTALLED);
            assertThat(row.verdict()).isEqualTo(Verdict.SAME);
            assertThat(row.count()).isEqualTo(CALLS);
        });
    }

    /** They are restored by the names of their files, and the user of the library comes first. */
    @Test
    void runsBundlesThatNeedEachOther() throws IOException, BundleRefusedException {
        Path library = forge.bundle("org.acme.z-lib", "1.0.0")
                .library("lib", "Lib", "public class Lib { public static long twice(long n) { return 2 * n; } }")
                .header("-privatepackage", "none")
                .header("Export-Package", "lib;version=1.0.0")
                .build();
        Path user = forge.bundle("org.acme.a-user", "1.0.0")
                .library("lib", "Lib", "public class Lib { public static long twice(long n) { return -1; } }")
                .header("Import-Package", "lib;version=\"[1.0,2)\",*")
                .source("Twice", """
                        @Component @HandlesMessage("math.twice")
                        public final class Twice implements MessageHandler {
                            @Override
                            public void handle(Message message, Outbox outbox) throws RejectedMessageException {
                                outbox.response().int64("twice", lib.Lib.twice(message.int64("n")));
                            }
                        }
                        """)
                .build();
        Path other = record(Files.createDirectory(directory.resolve("other")), List.of(library, user), caller -> {
            Request request = Request.operation("node", "math.twice");
            request.body().int64("n", 21);
            caller.call(request).close();
        });
        List<String> reasons = new ArrayList<>();
        ReplayReport report = Replay.of(other)
                .in(DISTRIBUTION)
                .run(call -> call.results().forEach(result -> reasons.add(result.reason())));
        assertThat(report.isAllSame()).as(reasons.toString()).isTrue();
    }

    @Test
    void refusesACandidateThatLacksSomething() throws IOException {
        Path lacking = forge.bundle("org.acme.math", "2.0.0")
                .source(
                        "Square",
                        "@Component @HandlesMessage(\"math.square\") public final class Square implements MessageHandler {"
                                + " @Activate public Square(@Reference java.util.concurrent.Callable<?> lacking) {}"
                                + " public void handle(Message m, Outbox o) {} }")
                .build();
        Path another = forge.bundle("org.acme.another", "2.0.0")
                .source(
                        "Square",
                        "@Component @HandlesMessage(\"math.cube\") public final class Square implements MessageHandler {"
                                + " @Activate public Square(@Reference java.util.concurrent.Callable<?> lacking) {}"
                                + " public void handle(Message m, Outbox o) {} }")
                .build();
        for (Path candidate : List.of(lacking, another)) {
            assertThatThrownBy(() ->
                            Replay.of(home).in(DISTRIBUTION).with(candidate).run())
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("the candidate is not taken")
                    .hasMessageContaining("needs a service that no bundle publishes: java.util.concurrent.Callable");
        }
    }

    @Test
    void namesTheOneCallWithADifferentResponseOfACandidate() throws IOException {
        Path good = jar("2.0.0", "n * n + 0");
        Path bad = jar("0.9.0", "n == 123 ? -1 : n * n"); // older than what the node had, and in its place all the same
        List<String> notSame = new ArrayList<>();
        ReplayReport report = Replay.of(home)
                .in(DISTRIBUTION)
                .with(good)
                .with(bad)
                .run(call -> {
                    for (ReplayedCall.Result result : call.results()) {
                        if (result.verdict() != Verdict.SAME) {
                            notSame.add(
                                    call.call().id() % (1L << 48) + " " + result.candidate() + " " + result.verdict());
                        }
                    }
                });
        assertThat(report.count(Verdict.SAME)).isEqualTo(2 * CALLS - 1);
        assertThat(notSame).singleElement().asString().endsWith(bad.getFileName() + " DIFFERENT");
    }

    @Test
    void saysWhyThereIsNoHandler() throws IOException {
        Path installed;
        try (var files = Files.walk(home)) {
            installed = files.filter(file -> file.getParent().endsWith("osgi/installed"))
                    .findFirst()
                    .orElseThrow();
        }
        Files.writeString(installed, "no bundle");
        List<String> reasons = new ArrayList<>();
        Replay.of(home)
                .in(DISTRIBUTION)
                .run(call -> call.results().forEach(result -> reasons.add(result.verdict() + " " + result.reason())));
        assertThat(reasons)
                .hasSize(CALLS)
                .allSatisfy(reason -> assertThat(reason)
                        .startsWith("FAILED there is no handler for math.square; " + installed.getFileName()
                                + " does not start: ")
                        .contains(": osgi/installed/" + installed.getFileName() + " is not a jar"));
    }

    @Test
    void saysThatTheHandlersOfAProgramAreInIt() throws IOException {
        Path other;
        try (Workers workers = new Workers(Files.createDirectory(directory.resolve("program")))) {
            HandlerRegistry handlers = workers.registry();
            workers.handle(handlers, "math.third", (message, outbox) -> outbox.respond(Value.of(3)));
            workers.join("program", handlers);
            workers.join("caller")
                    .call(Request.operation("program", "math.third"))
                    .close();
            other = workers.home.path();
        }
        List<String> reasons = new ArrayList<>();
        Replay.of(other).in(DISTRIBUTION).run(call -> call.results().forEach(result -> reasons.add(result.reason())));
        assertThat(reasons)
                .containsExactly(
                        "there is no handler for math.third; program was no node, and its handlers are in its program:"
                                + " give a Python program with --python");
    }

    @Test
    void saysWhyACandidateIsNotTaken() throws IOException {
        Path text = Files.writeString(directory.resolve("no.jar"), "no bundle");
        assertThatThrownBy(() -> Replay.of(home).in(DISTRIBUTION).with(text).run())
                .isInstanceOf(IOException.class)
                .hasMessageContaining("the candidate is not taken")
                .hasMessageContaining("is not a jar");
    }

    @Test
    void saysWhatAHandlerReadsByItselfThatRespondsAlike() throws IOException {
        Path reads = jar("2.0.0", "n == 123 ? n * n + 0 * System.nanoTime() : n * n");
        List<String> reasons = new ArrayList<>();
        ReplayReport report = Replay.of(home)
                .in(DISTRIBUTION)
                .with(reads)
                .run(call -> call.results().stream()
                        .map(ReplayedCall.Result::reason)
                        .filter(reason -> !reason.isEmpty())
                        .forEach(reasons::add));
        assertThat(report.isAllSame()).isTrue();
        assertThat(reasons)
                .singleElement()
                .asString()
                .startsWith("its handler called System.nanoTime() at acme.Square.handle(Square.java:12)");
        assertThat(report.rows().get(0).reasons()).containsExactly(Map.entry(reasons.get(0), 1L));
    }

    /** The response to such a request names the value, which is compared where it is read. */
    @Test
    void saysWhatAHandlerReadsThatLeavesAValue() throws IOException, BundleRefusedException {
        Path bundle = forge.bundle("org.acme.make", "1.0.0").source("Make", """
                        @Component @HandlesMessage("SCRIPT_CALL")
                        public final class Make implements MessageHandler {
                            @Override
                            public void handle(Message message, Outbox outbox) throws RejectedMessageException {
                                outbox.respond(io.waybill.api.Value.of(7 + 0 * System.nanoTime()));
                            }
                        }
                        """).build();
        Path values = record(Files.createDirectory(directory.resolve("values")), List.of(bundle), caller -> {
            try (RRef made = caller.rpc().remote("node", new Invocation("test::make", List.of(), Map.of()), LIMIT);
                    Response value = made.toHere(LIMIT)) {
                assertThat(value.value()).isEqualTo(Value.of(7));
            }
        });
        ReplayReport report = Replay.of(values).in(DISTRIBUTION).run();
        assertThat(report.isAllSame()).isTrue();
        assertThat(report.rows())
                .flatMap(row -> row.reasons().keySet())
                .singleElement()
                .asString()
                .startsWith("its handler called System.nanoTime() at acme.Make.handle(Make.java:");
    }

    @Test
    void namesWhatAHandlerReadsByItself() throws IOException {
        Path reads = jar("2.0.0", "n == 123 ? n * n + 1 + 0 * System.nanoTime() : n * n");
        List<ReplayedCall.Result> found = new ArrayList<>();
        ReplayReport report = Replay.of(home)
                .in(DISTRIBUTION)
                .with(reads)
                .run(call -> call.results().stream()
                        .filter(result -> result.verdict() != Verdict.SAME)
                        .forEach(found::add));
        assertThat(report.count(Verdict.SAME)).isEqualTo(CALLS - 1);
        assertThat(found).singleElement().satisfies(result -> {
            assertThat(result.verdict()).isEqualTo(Verdict.NOT_REPLAYABLE);
            assertThat(result.reason())
                    .startsWith("its handler called System.nanoTime() at acme.Square.handle(Square.java:12)")
                    .contains("square: recorded 15129, replayed 15130");
        });
    }
}
