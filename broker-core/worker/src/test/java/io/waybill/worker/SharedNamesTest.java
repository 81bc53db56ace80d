package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.home.error.NameTakenException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Short-lived callers of one program that share names. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class SharedNamesTest {

    @TempDir
    Path dir;

    private static String nameOf(Path home) throws IOException {
        try (Worker worker = Waybill.connect(home, "nightly").joinAnyOf(8)) {
            return worker.info().name();
        }
    }

    @Test
    void areTakenInTurnAndGivenBack() throws IOException {
        Path home = dir.resolve("home");
        for (int i = 0; i < 3; i++) {
            assertThat(nameOf(home)).isEqualTo("nightly");
        }
        try (Worker first = Waybill.connect(home, "nightly").joinAnyOf(2);
                Worker second = Waybill.connect(home, "nightly").joinAnyOf(2)) {
            assertThat(first.info().name()).isEqualTo("nightly");
            assertThat(second.info().name()).isEqualTo("nightly-2");
            assertThatThrownBy(() -> Waybill.connect(home, "nightly").joinAnyOf(2))
                    .isInstanceOf(NameTakenException.class);
            assertThat(nameOf(home)).isEqualTo("nightly-3");
        }
        try (var workers = Files.list(home.resolve("workers"))) {
            assertThat(workers).hasSize(3);
        }
        assertThatThrownBy(() -> Waybill.connect(home, "nightly").joinAnyOf(0))
                .isInstanceOf(IllegalArgumentException.class);
    }
}
