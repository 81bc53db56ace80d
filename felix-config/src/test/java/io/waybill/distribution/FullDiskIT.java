package io.waybill.distribution;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.waybill.distribution.Command.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A node whose disk has room for its journal and not for its bundles. Needs root for a disk of its own, and is skipped without. */
@Timeout(value = 600, unit = TimeUnit.SECONDS)
class FullDiskIT {

    private static final Path DISTRIBUTION = Path.of(System.getProperty("waybill.test.distribution"));

    @TempDir
    Path directory;

    private Path disk;
    private Map<String, String> environment;

    @BeforeEach
    void mount() throws IOException, InterruptedException {
        disk = Files.createDirectory(directory.resolve("disk"));
        environment = Command.environment(Files.createDirectory(directory.resolve("user")));
        assumeTrue(
                system("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk.toString()),
                "mounting a small disk needs root");
    }

    @AfterEach
    void unmount() throws IOException, InterruptedException {
        system("umount", disk.toString());
    }

    private boolean system(String... words) throws IOException, InterruptedException {
        return Command.run(directory, environment, words).exitCode() == 0;
    }

    private String[] waybill(String... args) {
        String[] words = new String[args.length + 3];
        words[0] = DISTRIBUTION.resolve("bin/waybill").toString();
        System.arraycopy(args, 0, words, 1, args.length);
        words[args.length + 1] = "--home";
        words[args.length + 2] = disk.resolve("home").toString();
        return words;
    }

    private String workers() throws IOException, InterruptedException {
        return Command.run(directory, environment, waybill("workers")).output();
    }

    /** @param missing a bundle that has no room; the last one that starts later has handlers, or none */
    @ParameterizedTest
    @CsvSource({"8m, script-ops", "9500k, metrics"})
    void saysWhatItHadNoRoomForAndStartsItLater(String size, String missing) throws Exception {
        resize(size);
        try (Command node = Command.start(directory, environment, List.of(waybill("node", "--name", "ps0")))) {
            Command.until("ready without " + missing, () -> {
                assertThat(node.process.isAlive()).as(node.err()).isTrue();
                return node.err().contains("is ready without " + missing);
            });
            assertThat(node.out()).isEqualTo("ready ps0 id=0\n");
            assertThat(node.err())
                    .containsPattern(
                            "ps0 is ready without " + missing + "-.*: no room: it needs [0-9]+ bytes on the disk of ")
                    .doesNotContain("\tat ");
            assertThat(workers()).contains("(not started: ").contains(missing + "-0.1.0.jar");

            resize("256m");
            Command.until("everything is started, and is shown as that", () -> {
                assertThat(node.process.isAlive()).as(node.err()).isTrue();
                return !workers().contains("not started");
            });
            Result sum = Command.run(directory, environment, waybill("call", "--to", "ps0", "aten::full", "[1]", "2"));
            assertThat(sum).isEqualTo(new Result(0, "int64[1] [2]\n", ""));

            node.process.destroy();
            assertThat(node.await().exitCode()).as(node.err()).isZero();
        }
    }

    private void resize(String size) throws IOException, InterruptedException {
        assertThat(system("mount", "-o", "remount,size=" + size, disk.toString()))
                .isTrue();
    }
}
