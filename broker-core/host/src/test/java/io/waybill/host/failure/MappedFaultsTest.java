package io.waybill.host.failure;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.host.CutFile;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class MappedFaultsTest {

    /** Enough for both compilers to have their turn. */
    private static final int ROUNDS = 50_000;

    @TempDir
    private Path directory;

    @Test
    void surfaceEachInTheThreadThatMetThem() throws IOException {
        CutFile cut = new CutFile(directory.resolve("cut"));
        int notified = 0;
        for (int i = 0; i < ROUNDS; i++) {
            notified += isNotified(cut) ? 1 : 0;
        }
        assertThat(notified).isEqualTo(ROUNDS);
        MappedFaults.surface();
    }

    private static boolean isNotified(CutFile cut) {
        try {
            cut.read();
            MappedFaults.surface();
            return false;
        } catch (InternalError e) {
            return MappedFaults.is(e);
        }
    }

    @Test
    void areNotWhatOtherErrorsAre() {
        InternalError fault = new InternalError("a fault occurred in an unsafe memory access operation");
        assertThat(MappedFaults.is(fault)).isTrue();
        assertThat(MappedFaults.is(new IllegalStateException("can't map", new IOException(fault))))
                .isTrue();
        assertThat(MappedFaults.is(new InternalError())).isFalse();
        assertThat(MappedFaults.is(new InternalError("broken"))).isFalse();
        assertThat(MappedFaults.is(new IllegalStateException("unsafe memory access operation")))
                .isFalse();
    }
}
