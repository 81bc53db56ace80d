package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Value;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.osgi.watch.HandlerWatch;
import io.waybill.osgi.watch.UnrecordedInput;
import io.waybill.testing.core.RecordingOutbox;
import io.waybill.testing.core.TestMessage;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Handlers of real bundles that read the time, or draw random numbers, without asking the outbox. */
@Timeout(120)
class UnrecordedInputBundleTest {

    private static final int BODY_LINE = 9; // of a handler that the forge writes

    @TempDir
    Path directory;

    private BundleForge forge;
    private TestNode node;

    @BeforeEach
    void startNode() throws Exception {
        forge = new BundleForge(Files.createDirectories(directory.resolve("forge")));
        node = TestNode.watching(directory.resolve("node"));
    }

    @AfterEach
    void stopNode() {
        node.close();
    }

    private BundleForge.Draft reading(String body) {
        return forge.bundle("org.acme.read", "1.0.0").handler("Read", "\"time.read\"", body);
    }

    /** Runs the handler on this thread, as a replay does. */
    private Optional<UnrecordedInput> run() throws Exception {
        HandlerEntry entry = node.entry("time.read");
        HandlerWatch watch = HandlerWatch.begin();
        try {
            entry.handler().handle(TestMessage.of("time.read", Map.of()), new RecordingOutbox());
        } finally {
            watch.leave();
        }
        return watch.end();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            long now = System.currentTimeMillis();                                        | System.currentTimeMillis()
            java.util.function.LongSupplier now = System::nanoTime; now.getAsLong();      | System.nanoTime()
            java.time.Instant.now();                                                      | Instant.now()
            java.util.function.Supplier<Object> now = java.time.LocalDate::now; now.get();| LocalDate.now()
            java.util.function.Supplier<Object> now = Date::new; now.get();               | new Date()
            Runnable now = () -> new Random().nextInt(); now.run();                       | new Random()
            List<Integer> all = new ArrayList<>(List.of(1, 2)); Collections.shuffle(all); | Collections.shuffle()
            java.time.Clock.systemUTC().millis();                                         | Clock.systemUTC()
            ThreadLocalRandom.current().nextInt();                                        | ThreadLocalRandom.current()
            UUID.randomUUID();                                                            | UUID.randomUUID()
            new java.security.SecureRandom().nextInt();                                   | new SecureRandom()
            new GregorianCalendar();                                                      | new GregorianCalendar()
            Math.random();                                                                | Math.random()
            java.util.random.RandomGenerator.getDefault().nextInt();                      | RandomGenerator.getDefault()
            """)
    void areFoundWithClassAndLine(String statements, String what) throws Exception {
        node.bundles().install(reading(statements).build());
        assertThat(run()).contains(new UnrecordedInput(what, "acme.Read.handle(Read.java:" + BODY_LINE + ")"));
    }

    @Test
    void areNoneWhenTimeAndChanceAreGiven() throws Exception {
        node.bundles().install(reading("""
                        java.time.Clock clock = java.time.Clock.fixed(java.time.Instant.EPOCH, java.time.ZoneOffset.UTC);
                        java.time.LocalDate.now(clock);
                        new Date(clock.millis()); new Random(7).nextInt(); new GregorianCalendar(2000, 1, 1);
                        Collections.shuffle(new ArrayList<>(List.of(1, 2)), new Random(7));
                        outbox.respond(Value.of(1));
                        """).build());
        assertThat(run()).isEmpty();
    }

    @Test
    void areReportedForTheFirstOnly() throws Exception {
        node.bundles().install(reading("System.nanoTime();\nMath.random();").build());
        assertThat(run()).map(UnrecordedInput::what).contains("System.nanoTime()");
        assertThat(run())
                .as("the next run is another's")
                .map(UnrecordedInput::what)
                .contains("System.nanoTime()");
    }

    @Test
    void countToTheHandlerThatStartedTheThread() throws Exception {
        node.bundles()
                .install(reading(
                                "Thread other = new Thread(System::nanoTime); other.start();\n"
                                        + "try { other.join(); } catch (InterruptedException e) { throw new AssertionError(e); }")
                        .build());
        assertThat(run()).map(UnrecordedInput::what).contains("System.nanoTime()");
    }

    @Test
    void countForNoBundleOnAThreadOfTheBundlesOwn() throws Exception {
        node.bundles()
                .install(forge.bundle("org.acme.read", "1.0.0")
                        .source("Read", """
                                @Component @HandlesMessage("time.read")
                                public final class Read implements MessageHandler {
                                    private final SynchronousQueue<Long> readings = new SynchronousQueue<>();
                                    private final Thread own = new Thread(() -> {
                                        try {
                                            while (true) {
                                                readings.put(System.nanoTime());
                                            }
                                        } catch (InterruptedException e) {
                                            return;
                                        }
                                    });
                                    @Activate public Read() { own.start(); }
                                    @Deactivate public void stop() { own.interrupt(); }
                                    public void handle(Message message, Outbox outbox) {
                                        try {
                                            readings.take();
                                            readings.take();
                                        } catch (InterruptedException e) {
                                            throw new AssertionError(e);
                                        }
                                    }
                                }
                                """)
                        .build());
        assertThat(run()).isEmpty();
    }

    @Test
    void countForNoBundleInALibraryThatDoesNotUseTheApi() throws Exception {
        node.bundles()
                .install(forge.bundle("org.lib", "1.0.0")
                        .header("-privatepackage", "none")
                        .header("Export-Package", "org.lib;version=1.0.0")
                        .library(
                                "org.lib",
                                "Pool",
                                "public final class Pool { public static long age() { return System.nanoTime(); } }")
                        .build());
        node.bundles()
                .install(reading("outbox.respond(Value.of(org.lib.Pool.age() == 0));")
                        .library("org.lib", "Pool", "public final class Pool { public static native long age(); }")
                        .header("Import-Package", "org.lib;version=\"[1.0,2)\",*")
                        .build());
        assertThat(run()).isEmpty();
    }

    @Test
    void areFoundInClassesThatAHandlerBrings() throws Exception {
        node.bundles()
                .install(reading("Helper.read();")
                        .source("Helper", "interface Helper { static void read() { System.nanoTime(); } }")
                        .build());
        assertThat(run()).contains(new UnrecordedInput("System.nanoTime()", "acme.Helper.read(Helper.java:7)"));
    }

    @Test
    void areLeftAloneInANode() throws Exception {
        node.close();
        node = new TestNode(directory.resolve("another"));
        node.bundles()
                .install(reading("outbox.respond(Value.of(System.nanoTime() != 0));")
                        .build());
        assertThat(run()).isEmpty();
        assertThat(node.call("time.read", Map.of()).value()).isEqualTo(Value.of(true));
    }
}
