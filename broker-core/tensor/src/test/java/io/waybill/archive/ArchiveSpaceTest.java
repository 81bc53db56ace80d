package io.waybill.archive;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.host.Host;
import io.waybill.host.ManualClock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The quota of an archive with one file. */
@Timeout(60)
class ArchiveSpaceTest {

    private static final int STORAGE = 10_000;
    private static final long SOME = 5000;

    @TempDir
    private Path directory;

    private final ManualClock clock = new ManualClock();
    private Path file;
    private long written;

    @BeforeEach
    void write() throws IOException {
        try (WrittenArchive archive = new WrittenArchive(directory)) {
            file = archive.path;
            archive.append(1, 0, WrittenArchive.bytes(1, STORAGE));
        }
        written = Files.size(file);
    }

    private ArchiveSpace space(long quotaBytes) {
        return new ArchiveSpace(directory, Host.real().withClock(clock), quotaBytes, 0);
    }

    /** After each recount by itself; between two it does not ask the disk. */
    @Test
    void isNotExceededForAFileInUse() throws IOException {
        ArchiveSpace space = space(written + SOME);
        for (int i = 0; i < 3; i++) {
            assertThat(space.isWithinQuota(SOME, List.of(file)))
                    .as("whether there is room for all that is left")
                    .isTrue();
            assertThat(space.isWithinQuota(SOME + 1, List.of(file)))
                    .as("whether there is room for a byte more, by count %d", i)
                    .isFalse();
            clock.advance(Duration.ofSeconds(2));
        }
        assertThat(Files.size(file)).as("the file in use").isEqualTo(written);
    }

    @Test
    void takesTheRecordsOfAFileThatIsNotInUse() throws IOException {
        ArchiveSpace space = space(written + SOME);
        assertThat(space.isWithinQuota(SOME, List.of())).isTrue();
        assertThat(Files.size(file)).as("there was room").isEqualTo(written);

        clock.advance(Duration.ofSeconds(2));
        assertThat(space.isWithinQuota(SOME + 1, List.of())).isTrue();
        assertThat(Files.size(file)).as("bytes without the records").isLessThan(written - STORAGE);
        assertThat(space.usedBytes()).isEqualTo(Files.size(file));
    }

    @Test
    void refusesMoreThanItMayEverHave() throws IOException {
        assertThat(space(SOME).isWithinQuota(SOME + 1, List.of())).isFalse();
        assertThat(Files.size(file)).as("nothing is removed for it").isEqualTo(written);
    }
}
