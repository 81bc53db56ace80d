package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.waybill.api.Value;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/**
 * Files of settings and jars as operators, container platforms and editors make them: each is taken, or named once in the log and in the
 * list of files that are not taken, and taken when it is put right. One that is not taken keeps no other out.
 */
@Timeout(120)
class OperatorFilesBundleTest {

    private static final String TAKEN = "";
    private static final Path UNREADABLE_FOR_ROOT_TOO = Path.of("/proc/self/mem");

    /** Makes a file, or puts it right. */
    private interface Act {
        void at(Path file, String response) throws Exception;
    }

    /**
     * One file.
     *
     * @param folder of the node, with the file's name
     * @param key of the handler that the file brings
     * @param problem part of the text that names it; {@link #TAKEN} for none
     */
    private record Row(String folder, String file, String key, Act made, String problem, Act putRight) {}

    @TempDir
    Path directory;

    private final ListAppender<ILoggingEvent> written = new ListAppender<>();
    private final Logger log = (Logger) LoggerFactory.getLogger("io.waybill.osgi");
    private BundleForge forge;
    private TestNode node;

    @BeforeEach
    void start() throws Exception {
        written.list = new CopyOnWriteArrayList<>();
        written.start();
        log.addAppender(written);
        forge = new BundleForge(Files.createDirectories(directory.resolve("forge")));
        node = new TestNode(directory.resolve("node"));
        node.bundles()
                .install(
                        forge.bundle("org.acme.row", "1.0.0").source("Row", """
                                @Component(configurationPid = "org.acme.Row", configurationPolicy = ConfigurationPolicy.REQUIRE)
                                @HandlesMessage("text.none")
                                public final class Row implements MessageHandler {
                                    public @interface Config { String response() default "none"; }
                                    private final String text;
                                    @Activate
                                    public Row(Config config) { text = config.response(); }
                                    public void handle(Message m, Outbox outbox) { outbox.respond(Value.of(text)); }
                                }
                                """).build());
    }

    @AfterEach
    void stop() {
        log.detachAppender(written);
        node.close();
    }

    private static String text(Path file, String response) {
        String name = file.getFileName().toString();
        String key = name.substring(name.indexOf('~') + 1, name.lastIndexOf('.'));
        return "waybill.handles.message = text." + key + "\nresponse = " + response + "\n";
    }

    private static void settings(Path file, String response) throws IOException {
        Files.deleteIfExists(file);
        Files.writeString(file, text(file, response));
    }

    private void jar(Path file, String response) throws IOException {
        Path hidden = file.resolveSibling("." + file.getFileName());
        Files.copy(built(file, response), hidden, StandardCopyOption.REPLACE_EXISTING);
        Files.move(hidden, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    private Path built(Path file, String response) throws IOException {
        String name = file.getFileName().toString();
        String key = name.substring(0, name.lastIndexOf('.'));
        return forge.bundle("org.acme." + key, "1.0." + response.length())
                .handler("Count", "\"text." + key + "\"", "outbox.respond(Value.of(\"" + response + "\"));")
                .build();
    }

    /** As a container platform mounts a map of settings: each file leads through a link that is swapped. */
    private static void mounted(Path file, String response) throws IOException {
        Path folder = Files.createDirectories(file.resolveSibling(".." + response));
        Files.writeString(folder.resolve(file.getFileName()), text(file, response));
        Path data = file.resolveSibling("..data");
        Path swapped = Files.createSymbolicLink(file.resolveSibling("..tmp"), folder.getFileName());
        Files.move(swapped, data, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        if (!Files.isSymbolicLink(file)) {
            Files.createSymbolicLink(file, Path.of("..data").resolve(file.getFileName()));
        }
    }

    private static void unreadable(Path file, String response) throws IOException {
        if (System.getProperty("user.name").equals("root")) {
            Files.createSymbolicLink(file, UNREADABLE_FOR_ROOT_TOO);
        } else {
            settings(file, response);
            Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("-w-------"));
        }
    }

    private static Act bytes(String start, String end) {
        return (file, response) ->
                Files.writeString(file, start + text(file, response).replace("\n", end), StandardCharsets.UTF_8);
    }

    private static Act linkTo(String target) {
        return (file, response) -> Files.createSymbolicLink(
                file, Path.of(target.isEmpty() ? file.getFileName().toString() : target));
    }

    private static void fifo(Path file, String response) throws Exception {
        assertThat(new ProcessBuilder("mkfifo", file.toString()).start().waitFor())
                .as("mkfifo for %s", response)
                .isZero();
    }

    private static void hardLinked(Path file, Path content) throws IOException {
        Files.createLink(file, content);
    }

    private List<Row> rows() {
        Act good = OperatorFilesBundleTest::settings;
        Act copied = this::jar;
        List<Row> rows = new ArrayList<>();
        rows.add(settings("mounted.cfg", OperatorFilesBundleTest::mounted, TAKEN, OperatorFilesBundleTest::mounted));
        rows.add(settings("upper.CFG", good, TAKEN, good));
        rows.add(settings("mark.cfg", bytes("\uFEFF", "  \r\n"), TAKEN, good));
        rows.add(settings(
                "linked.cfg",
                (file, response) ->
                        hardLinked(file, Files.writeString(directory.resolve("linked"), text(file, response))),
                TAKEN,
                good));
        rows.add(settings("nowhere.cfg", linkTo("not-there"), "is a link that leads to no file", good));
        rows.add(settings("circle.cfg", linkTo(""), "circle.cfg", good));
        rows.add(settings("unreadable.cfg", OperatorFilesBundleTest::unreadable, "unreadable.cfg can't be read", good));
        rows.add(settings("fifo.cfg", OperatorFilesBundleTest::fifo, "expected a regular file", good));
        rows.add(settings("escape.cfg", bytes("path = C:\\u12\n", "\n"), "A backslash is written twice", good));
        rows.add(settings(
                "latin.cfg",
                (file, response) -> Files.write(file, new byte[] {'a', '=', (byte) 0xe4, '\n'}),
                "is not UTF-8",
                good));
        rows.add(jar("capital.JAR", copied, TAKEN));
        rows.add(jar("twice.jar", (file, response) -> hardLinked(file, built(file, response)), TAKEN));
        rows.add(jar(
                "link.jar",
                (file, response) -> Files.createSymbolicLink(file, built(file, response)),
                "no link, and a link is at"));
        rows.add(jar("away.jar", linkTo("not-there"), "no link, and a link is at"));
        rows.add(jar("pipe.jar", OperatorFilesBundleTest::fifo, "something else is at"));
        rows.add(jar(
                "open.jar",
                (file, response) -> {
                    Path built = built(file, response);
                    Files.setPosixFilePermissions(built, PosixFilePermissions.fromString("rw-rw-rw-"));
                    Files.move(built, file);
                },
                "everybody may write"));
        return rows;
    }

    private Row settings(String file, Act made, String problem, Act putRight) {
        String key = "text." + file.substring(0, file.lastIndexOf('.'));
        return new Row("conf", "org.acme.Row~" + file, key, made, problem, putRight);
    }

    private Row jar(String file, Act made, String problem) {
        return new Row("watched", file, "text." + file.substring(0, file.lastIndexOf('.')), made, problem, this::jar);
    }

    private Path path(Row row) {
        return (row.folder().equals("conf") ? node.conf : node.watched).resolve(row.file());
    }

    private boolean responds(Row row, String text) {
        return node.entry(row.key()) != null
                && node.callAsync(row.key(), Map.of())
                        .handle((outbox, failure) ->
                                failure == null && outbox.value().equals(Value.of(text)))
                        .join();
    }

    private String problem(Row row) {
        return node.host.refusedFiles().getOrDefault(path(row), TAKEN);
    }

    @Test
    void areTakenOrNamedOnceAndTakenWhenPutRight() throws Exception {
        List<Row> rows = rows();
        for (Row row : rows) {
            row.made().at(path(row), "one");
        }
        for (Row row : rows) {
            if (row.problem().equals(TAKEN)) {
                Waits.until(row.file() + " is taken", () -> responds(row, "one"));
            } else {
                Waits.until(row.file() + " is named", () -> problem(row).contains(row.problem()));
            }
        }
        for (Row row : rows) {
            row.putRight().at(path(row), "three");
        }
        for (Row row : rows) {
            Waits.until(row.file() + " is taken as it is now", () -> responds(row, "three"));
            Waits.until(row.file() + " is named no more", () -> problem(row).isEmpty());
            String name = "/" + row.file();
            assertThat(written.list.stream()
                            .filter(line -> line.getLevel().isGreaterOrEqual(Level.WARN))
                            .map(ILoggingEvent::getFormattedMessage)
                            .filter(line -> line.contains(name)))
                    .as("warnings and errors that name " + row.file())
                    .hasSize(row.problem().equals(TAKEN) ? 0 : 1);
        }
        assertThat(node.host.refusedFiles()).isEmpty();
    }
}
