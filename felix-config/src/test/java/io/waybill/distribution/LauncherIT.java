package io.waybill.distribution;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.distribution.Command.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Runs the assembled distribution as a user does. */
@Timeout(value = 600, unit = TimeUnit.SECONDS)
class LauncherIT {

    private static final Path DISTRIBUTION = Path.of(System.getProperty("waybill.test.distribution"));
    private static final String JAVA =
            Path.of(System.getProperty("java.home"), "bin", "java").toString();

    /** Whence a class comes that was prepared: an archive lies on top of that of the JDK's own classes, a cache has both. */
    private static final String ARCHIVED =
            Command.ARCHIVE_SUFFIX.equals(".jsa") ? "shared objects file (top)" : "shared objects file";

    @TempDir
    Path directory;

    private Path userHome;
    private final Map<String, String> environment = new HashMap<>();

    @BeforeEach
    void startFromAnEmptyEnvironment() throws IOException {
        userHome = Files.createDirectory(directory.resolve("user"));
        environment.put("PATH", "/usr/bin:/bin");
        environment.put("HOME", userHome.toString());
        environment.put("WAYBILL_JAVA_OPTS", "-Duser.home=" + userHome);
        environment.put("WAYBILL_HOME", directory.resolve("waybill-home").toString());
        environment.put("WAYBILL_JAVA", JAVA);
    }

    private Result waybill(String... args) throws IOException, InterruptedException {
        return Command.run(directory, environment, words(args));
    }

    private static String[] words(String... args) {
        String[] words = new String[args.length + 1];
        words[0] = DISTRIBUTION.resolve("bin/waybill").toString();
        System.arraycopy(args, 0, words, 1, args.length);
        return words;
    }

    @Test
    void runsFromAnotherDirectoryThroughLinks() throws IOException, InterruptedException {
        Path elsewhere = Files.createDirectory(directory.resolve("with blanks"));
        Path absolute = Files.createSymbolicLink(elsewhere.resolve("first"), DISTRIBUTION.resolve("bin/waybill"));
        Path relative = Files.createSymbolicLink(elsewhere.resolve("second"), absolute.getFileName());

        Result result = Command.run(elsewhere, environment, "bash", relative.toString(), "--version");

        assertThat(result).isEqualTo(new Result(0, "waybill 0.1.0\n", ""));
    }

    @Test
    void findsAJavaWithoutASetting() throws IOException, InterruptedException {
        environment.remove("WAYBILL_JAVA");
        environment.put("JAVA_HOME", System.getProperty("java.home"));

        assertThat(waybill("--version")).isEqualTo(new Result(0, "waybill 0.1.0\n", ""));
    }

    @Test
    @Timeout(value = 600, unit = TimeUnit.SECONDS)
    void startsFromWhatItPrepared() throws IOException, InterruptedException {
        Path place = directory.resolve("place with a blank");
        copyOfWhatPrepareNeeds(place);
        assertThat(loadsFrom(place)).as("before it was prepared").doesNotContain("shared");
        prepare(place);
        if (Command.ARCHIVE_SUFFIX.equals(".aot")) { // Java 17 uses none where the path has a blank
            assertThat(loadsFrom(place)).contains(ARCHIVED);
        }
    }

    @Test
    @Tag("ci")
    void usesWhatItPreparedWhereItFitsAndSaysWhereNot() throws IOException, InterruptedException {
        Path first = directory.resolve("first-place");
        copyOfWhatPrepareNeeds(first);
        assertThat(startOfANode(first)).as("before it was prepared").isEmpty();
        prepare(first);
        assertThat(loadsFrom(first)).contains(ARCHIVED);
        assertThat(startOfANode(first)).isEmpty();

        Path second = Files.move(first, directory.resolve("second-place"));
        requireUnused(second, "after a move");
        prepare(second);
        assertThat(loadsFrom(second)).contains(ARCHIVED);

        Path jar = second.resolve("lib/cli-0.1.0.jar");
        Files.setLastModifiedTime(jar, FileTime.fromMillis(1_000_000_000_000L));
        requireUnused(second, "after another build");
        assertThat(filesOf(second.resolve("lib/cds")))
                .as("a command makes nothing")
                .hasSize(3);
    }

    /** A command runs at once, without it; one that stays says so. */
    private void requireUnused(Path distribution, String when) throws IOException, InterruptedException {
        assertThat(loadsFrom(distribution)).as(when).doesNotContain("shared");
        assertThat(startOfANode(distribution))
                .as(when)
                .startsWith("waybill: slower until waybill prepare runs again")
                .hasLineCount(1);
    }

    private String startOfANode(Path distribution) throws IOException, InterruptedException {
        String command = distribution.resolve("bin/waybill").toString();
        return Command.run(directory, environment, command, "node", "--help").err();
    }

    private static List<String> filesOf(Path archives) throws IOException {
        try (Stream<Path> files = Files.list(archives)) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        }
    }

    @Test
    @Tag("ci")
    void preparesOneAtATimeAndLeavesNothingWhenItIsStopped() throws Exception {
        Path place = directory.resolve("place");
        copyOfWhatPrepareNeeds(place);
        Path temporary = Files.createDirectory(directory.resolve("tmp"));
        environment.put("TMPDIR", temporary.toString());
        Path archives = place.resolve("lib/cds");
        List<String> prepare = List.of(place.resolve("bin/waybill").toString(), "prepare");
        try (Command stopped = Command.start(directory, environment, prepare)) {
            Command.until("it is at work", () -> !filesOf(temporary).isEmpty());
            stopped.process.destroy();
            assertThat(stopped.await().exitCode()).isEqualTo(143);
        }
        assertThat(filesOf(archives)).as("after SIGTERM").containsExactly("lock");
        assertThat(temporary).isEmptyDirectory();

        try (Command killed = Command.start(directory, environment, prepare)) {
            Command.until("it is at work", () -> filesOf(archives).size() > 1);
            killed.process.destroyForcibly().waitFor();
            Result next = Command.run(directory, environment, prepare.toArray(String[]::new));
            assertThat(next.exitCode()).as(next.err()).isZero();
            assertThat(next.err()).contains("waybill: waiting for another waybill prepare\n");
        }
        assertThat(filesOf(archives)).as("after SIGKILL, and another one").hasSize(3);
        assertThat(loadsFrom(place)).contains(ARCHIVED);
    }

    private void prepare(Path distribution) throws IOException, InterruptedException {
        Result prepared = Command.run(
                directory, environment, distribution.resolve("bin/waybill").toString(), "prepare");
        assertThat(prepared.output()).isEmpty();
        assertThat(prepared.err()).startsWith("waybill: preparing for Java ").hasLineCount(1);
    }

    /** Whence the JVM loads the first class of the command. */
    private String loadsFrom(Path distribution) throws IOException, InterruptedException {
        Path log = directory.resolve("classes.log");
        Map<String, String> logging = new HashMap<>(environment);
        logging.merge("WAYBILL_JAVA_OPTS", "-Xlog:class+load:file=" + log, (before, more) -> before + " " + more);
        Result result = Command.run(
                directory, logging, distribution.resolve("bin/waybill").toString(), "--version");
        assertThat(result).isEqualTo(new Result(0, "waybill 0.1.0\n", ""));
        try (Stream<String> lines = Files.lines(log)) {
            return lines.filter(line -> line.contains(" io.waybill.cli.Main source: "))
                    .findFirst()
                    .orElseThrow();
        }
    }

    /** Without bundles and libtorch, which are most of it. */
    private static void copyOfWhatPrepareNeeds(Path target) throws IOException {
        try (Stream<Path> all = Files.walk(DISTRIBUTION)) {
            for (Path file : all.toList()) {
                Path path = DISTRIBUTION.relativize(file);
                boolean isNeeded = path.startsWith("bin")
                        || path.startsWith("conf")
                        || path.startsWith("lib")
                                && !path.startsWith("lib/cds")
                                && !path.toString().contains("torch");
                if (isNeeded && Files.isDirectory(file)) {
                    Files.createDirectories(target.resolve(path));
                } else if (isNeeded) {
                    Files.copy(file, target.resolve(path), StandardCopyOption.COPY_ATTRIBUTES);
                }
            }
        }
        Files.createDirectory(target.resolve("bundles"));
    }

    @Test
    void saysWhichJavaIsTooOld() throws IOException, InterruptedException {
        Path old = Files.createDirectories(directory.resolve("jdk-11/bin")).resolve("java");
        Files.createFile(old, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        Files.writeString(directory.resolve("jdk-11/release"), "JAVA_VERSION=\"11.0.2\"\n");
        environment.put("WAYBILL_JAVA", old.toString());

        Result result = waybill("--version");

        assertThat(result.exitCode()).isEqualTo(1);
        assertThat(result.err())
                .isEqualTo("waybill: WAYBILL_JAVA is Java 11.0.2; set it to a JDK from 17 to 25: " + old + "\n");
    }

    @Test
    void servesACallAndLeavesNothingInTheUsersDirectory() throws IOException, InterruptedException {
        try (Command node = Command.start(directory, environment, List.of(words("node", "--name", "ps0")))) {
            awaitReady(node);

            Result added = waybill("call", "--to", "ps0", "aten::add", "[1.0]", "1", "--json");
            assertThat(added.exitCode()).as(added.err()).isEqualTo(1); // a list is no tensor
            assertThat(added.err()).startsWith("waybill call: ").hasLineCount(1);
            Result ones = waybill("call", "--to", "ps0", "aten::ones", "[2, 2]", "dtype:=int64", "--out", "ones.npy");
            assertThat(ones).isEqualTo(new Result(0, "ones.npy: int64[2, 2]\n", ""));
            Result doubled = waybill("call", "--to", "ps0", "aten::add", "ones.npy", "ones.npy");
            assertThat(doubled).isEqualTo(new Result(0, "int64[2, 2]\n[[2, 2],\n [2, 2]]\n", ""));
            Result workers = waybill("workers");
            assertThat(workers.out()).contains("ps0").contains("alive").contains("SCRIPT_CALL");

            node.process.destroy();
            assertThat(node.await().exitCode()).as(node.err()).isZero();
        }
        assertThat(userHome).isEmptyDirectory();
        assertThat(waybill("workers", "--all").out()).contains("left");
    }

    /** Libraries start some when they are loaded, and the join waits for them. */
    @Test
    void startsNoProcessInANode() throws IOException, InterruptedException {
        Path recorded = directory.resolve("node.jfr");
        Map<String, String> recording = new HashMap<>(environment);
        recording.merge(
                "WAYBILL_JAVA_OPTS",
                "-Xlog:jfr+startup=off -XX:StartFlightRecording:dumponexit=true,filename=" + recorded,
                (before, more) -> before + " " + more);
        try (Command node = Command.start(directory, recording, List.of(words("node", "--name", "ps0")))) {
            awaitReady(node);
            node.process.destroy();
            assertThat(node.await().exitCode()).as(node.err()).isZero();
        }
        List<RecordedEvent> events = RecordingFile.readAllEvents(recorded);
        assertThat(events).as("what was recorded").isNotEmpty();
        assertThat(events)
                .filteredOn(event -> event.getEventType().getName().equals("jdk.ProcessStart"))
                .extracting(event -> event.getString("command"))
                .isEmpty();
    }

    @Test
    void saysWhichLibcRocksDbIsFor() throws IOException, InterruptedException {
        Path java = Files.createDirectories(directory.resolve("jdk/bin")).resolve("java");
        Files.createFile(java, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        Files.writeString(java, "#!/bin/sh\necho \"$ROCKSDB_MUSL_LIBC\"\n");
        Files.writeString(directory.resolve("jdk/release"), "JAVA_VERSION=\"17.0.1\"\n");
        environment.put("WAYBILL_JAVA", java.toString());

        assertThat(waybill("--version").out()).isEqualTo("false\n");
        environment.put("ROCKSDB_MUSL_LIBC", "true");
        assertThat(waybill("--version").out()).as("as the user says").isEqualTo("true\n");
    }

    @Test
    void waitsForANodeThatIsStarting() throws IOException, InterruptedException {
        try (Command node = Command.start(directory, environment, List.of(words("node", "--name", "ps0")))) {
            while (!waybill("workers").out().contains("ps0")) {
                assertThat(node.process.isAlive()).as(node.err()).isTrue();
            }
            assertThat(waybill("call", "--to", "ps0", "aten::full", "[1]", "2").output())
                    .isEqualTo("int64[1] [2]\n");
            Result refused = waybill("restart", "ps0");
            assertThat(refused.exitCode()).isEqualTo(1);
            assertThat(refused.err())
                    .startsWith("waybill restart: ps0 is not run by waybill up")
                    .hasLineCount(1);
            Result stopped = waybill("stop", "ps0");
            assertThat(stopped).isEqualTo(new Result(0, "stopped ps0 pid=" + node.process.pid() + "\n", ""));
            assertThat(node.await().exitCode()).as(node.err()).isZero();
        }
    }

    @Test
    void readsLogLevelsAgainWhileANodeRuns() throws IOException, InterruptedException {
        String shipped = Files.readString(DISTRIBUTION.resolve("conf/logback.xml"));
        String level = "level=\"${waybill.log.level:-WARN}\"";
        Path log = Files.writeString(directory.resolve("logback.xml"), shipped);
        environment.put("WAYBILL_LOGBACK", log.toString());
        try (Command node = Command.start(directory, environment, List.of(words("node", "--name", "ps0")))) {
            awaitReady(node);
            assertThat(shipped).contains(level);
            assertThat(node.err()).contains(" INFO ").doesNotContain(" DEBUG ");

            Files.writeString(log, shipped.replace(level, "level=\"DEBUG\""));

            while (!node.err().contains(" DEBUG ")) {
                assertThat(node.process.isAlive()).as(node.err()).isTrue();
                waybill("bundle", "stop", "--node", "ps0", "io.waybill.script-ops");
                waybill("bundle", "start", "--node", "ps0", "io.waybill.script-ops");
            }
        }
    }

    private static void awaitReady(Command node) throws IOException {
        long untilNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (!node.out().startsWith("ready ps0 id=")) {
            assertThat(node.process.isAlive()).as(node.err()).isTrue();
            assertThat(System.nanoTime()).as("ready in time: %s", node.err()).isLessThan(untilNs);
            LockSupport.parkNanos(20_000_000);
        }
    }
}
