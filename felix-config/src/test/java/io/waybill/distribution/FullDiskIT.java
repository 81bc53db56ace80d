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
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

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
                system("mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk.toString()),
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

    @Test
    void saysWhatItHadNoRoomForAndStartsItLater() throws IOException, InterruptedException {
        try (Command node = Command.start(directory, environment, List.of(waybill("node", "--name", "ps0")))) {
            while (!node.err().contains("is ready without")) {
                assertThat(node.process.isAlive()).as(node.err()).isTrue();
                LockSupport.parkNanos(50_000_000);
            }
            assertThat(node.out()).isEqualTo("ready ps0 id=0\n");
            assertThat(node.err())
                    .containsPattern(
                            "ps0 is ready without script-ops-.*: no room: it needs [0-9]+ bytes on the disk of ")
                    .doesNotContain("\tat ");
            assertThat(workers()).contains("(not started: ").contains("script-ops-0.1.0.jar");

            assertThat(system("mount", "-o", "remount,size=256m", disk.toString()))
                    .isTrue();
            while (workers().contains("not started")) {
                assertThat(node.process.isAlive()).as(node.err()).isTrue();
            }
            Result sum = Command.run(directory, environment, waybill("call", "--to", "ps0", "aten::full", "[1]", "2"));
            assertThat(sum).isEqualTo(new Result(0, "int64[1] [2]\n", ""));

            node.process.destroy();
            assertThat(node.await().exitCode()).as(node.err()).isZero();
        }
    }
}
