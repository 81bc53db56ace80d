package io.waybill.replay;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Request;
import io.waybill.replay.compare.Verdict;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A replay writes nothing into the home. */
@Timeout(120)
class UntouchedHomeTest {

    private static final Set<PosixFilePermission> WRITE = EnumSet.of(
            PosixFilePermission.OWNER_WRITE, PosixFilePermission.GROUP_WRITE, PosixFilePermission.OTHERS_WRITE);

    @TempDir
    private Path directory;

    private static List<Path> everything(Path home) throws IOException {
        try (Stream<Path> files = Files.walk(home)) {
            return files.filter(path -> !Files.isSymbolicLink(path)).toList();
        }
    }

    /** Sizes and times of all files, and times of all directories, which change when something is made in them. */
    private static SortedMap<String, String> listing(Path home) throws IOException {
        SortedMap<String, String> listing = new TreeMap<>();
        for (Path path : everything(home)) {
            listing.put(
                    home.relativize(path).toString(),
                    (Files.isDirectory(path) ? "directory" : Files.size(path)) + " " + Files.getLastModifiedTime(path)
                            + " " + Files.getAttribute(path, "unix:ctime"));
        }
        return listing;
    }

    private interface Action {
        void run() throws Exception;
    }

    /** Takes the right to write away meanwhile, also from directories. */
    private static void readOnly(Path home, Action action) throws Exception {
        List<Path> taken = new ArrayList<>();
        try {
            for (Path path : everything(home)) {
                Set<PosixFilePermission> permissions = EnumSet.copyOf(Files.getPosixFilePermissions(path));
                if (permissions.removeAll(WRITE)) {
                    Files.setPosixFilePermissions(path, permissions);
                    taken.add(path);
                }
            }
            action.run();
        } finally {
            for (Path path : taken) {
                Set<PosixFilePermission> permissions = EnumSet.copyOf(Files.getPosixFilePermissions(path));
                permissions.add(PosixFilePermission.OWNER_WRITE);
                Files.setPosixFilePermissions(path, permissions);
            }
        }
    }

    @Test
    void staysAsItIs() throws Exception {
        ReplayScenario scenario = new ReplayScenario()
                .handles(
                        "b",
                        "math.twice",
                        (message, outbox) -> outbox.response().int64("twice", 2 * message.int64("n")))
                .handles("a", "math.ask", (message, outbox) -> {
                    Request request = Request.operation("b", "math.twice");
                    request.body().int64("n", message.int64("n"));
                    outbox.response()
                            .int64("asked", outbox.caller().call(request).int64("twice"));
                });
        Path home = scenario.record(directory, caller -> {
            for (int n = 0; n < 20; n++) {
                Request request = Request.operation("a", "math.ask");
                request.body().int64("n", n);
                caller.call(request).close();
            }
        });
        readOnly(home, () -> {
            SortedMap<String, String> before = listing(home);
            assertThat(scenario.replay(home).run().count(Verdict.SAME)).isEqualTo(40);
            assertThat(listing(home)).isEqualTo(before);
        });
    }
}
