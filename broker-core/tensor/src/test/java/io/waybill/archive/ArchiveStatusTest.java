package io.waybill.archive;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.host.Host;
import io.waybill.host.NativeFile;
import io.waybill.host.SafeFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class ArchiveStatusTest {

    private static final ArchiveStatus STATUS = new ArchiveStatus(
            ArchivePolicy.UP_TO, 1, 2, 3, 4, 5, 6, 7, Map.of(Omission.QUOTA, 8L, Omission.CLOSED, 9L));

    @TempDir
    Path directory;

    private final SafeFiles files = Host.real().files();
    private Path path;

    @BeforeEach
    void write() throws IOException {
        assertThat(ArchiveStatus.read(directory, files)).isEmpty();
        path = files.createPrivateDirectory(directory.resolve("archive")).resolve("status");
        try (NativeFile file = files.openOwnNative(path)) {
            STATUS.write(file);
        }
    }

    @Test
    void readsWhatWasWritten() throws IOException {
        assertThat(ArchiveStatus.read(directory, files)).contains(STATUS);
        assertThat(STATUS.droppedStorages()).isEqualTo(17);
    }

    @Test
    void refusesADamagedOne() throws IOException {
        byte[] whole = Files.readAllBytes(path);
        for (int at = 0; at < whole.length; at++) {
            byte[] flipped = whole.clone();
            flipped[at] ^= (byte) (1 << at % 8);
            Files.write(path, flipped);
            assertThatThrownBy(() -> ArchiveStatus.read(directory, files))
                    .as("byte %d", at)
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("is no status");
        }
        Files.write(path, Arrays.copyOf(whole, 100));
        assertThatThrownBy(() -> ArchiveStatus.read(directory, files)).isInstanceOf(IOException.class);
        Files.write(path, Arrays.copyOf(whole, whole.length + 1));
        assertThatThrownBy(() -> ArchiveStatus.read(directory, files)).isInstanceOf(IOException.class);
    }
}
