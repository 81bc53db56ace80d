package io.waybill.system;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.Value;
import io.waybill.api.state.StateFileException;
import io.waybill.api.state.StatePolicy;
import io.waybill.api.state.StateStore;
import io.waybill.broker.StateSettings;
import io.waybill.broker.file.StateFiles;
import io.waybill.host.Host;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.Roll;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Files of stores that are kept on disk, changed by others. */
@Timeout(300)
class KeptStateSystemTest {

    private static final String OWNER = "(program)";
    private static final String STORE = "words";
    private static final int ENTRIES = 200;
    private static final WorkerSettings SETTINGS = WorkerSettings.builder()
            .journal(new JournalSettings(Roll.DAILY, 4 << 20, 1 << 20, 2 << 20))
            .state(new StateSettings(Duration.ofMillis(10), 64 << 20))
            .build();

    @TempDir
    private Path directory;

    private static Worker join(Path home) throws IOException {
        return Waybill.connect(home, "keeper").settings(SETTINGS).join();
    }

    private static StateStore store(Worker worker) {
        return worker.broker().state(STORE, StatePolicy.KEEP.onDisk());
    }

    private static void put(StateStore store, int round) {
        for (int i = 0; i < ENTRIES; i++) {
            store.put("key" + i, Value.list(Value.of(round), Value.of(".".repeat(8 << 10))));
        }
    }

    private static int roundOf(Value value) {
        return (int) ((Value.Int) ((Value.Items) value).values().get(0)).value();
    }

    private static StateFiles files(Path home) {
        Host host = Host.real();
        return new StateFiles(home.resolve("workers/0-keeper"), 0, 1, host.files(), host.clock());
    }

    @Test
    void refusesAFileThatWasChangedAndServesOn() throws Exception {
        Path home = directory.resolve("home");
        try (Worker worker = join(home)) {
            put(store(worker), 1);
        }
        Path file = files(home).file(OWNER, STORE);
        byte[] whole = Files.readAllBytes(file);
        for (int at : new int[] {0, 9, 40, whole.length / 2, whole.length - 1}) {
            byte[] changed = whole.clone();
            changed[at] ^= 1;
            Files.write(file, changed);
            try (Worker worker = join(home)) {
                assertThatThrownBy(() -> store(worker))
                        .isInstanceOf(StateFileException.class)
                        .hasMessageContaining(file.toString())
                        .hasMessageContaining("move the file away");
                worker.broker().state("other", StatePolicy.KEEP.onDisk()).put("key", Value.of(at));
            }
            assertThat(file).as("it is left as it is").hasBinaryContent(changed);
        }
        Files.write(file, whole);
        try (Worker worker = join(home)) {
            assertThat(roundOf(store(worker).get("key0").orElseThrow())).isEqualTo(1);
            assertThat(worker.broker().state("other", StatePolicy.KEEP.onDisk()).get("key"))
                    .contains(Value.of(whole.length - 1));
        }
    }
}
