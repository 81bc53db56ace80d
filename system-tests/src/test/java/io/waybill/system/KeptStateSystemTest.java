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
import io.waybill.process.ChildJvm;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Stores that are kept on a disk that another process fills, and files of them that others changed. */
@Timeout(600)
class KeptStateSystemTest {

    private static final String OWNER = "(program)";
    private static final String STORE = "words";
    private static final int ENTRIES = 200;
    private static final WorkerSettings SETTINGS = WorkerSettings.builder()
            .journal(new JournalSettings(Roll.DAILY, 4 << 20, 1 << 20, 2 << 20))
            .state(new StateSettings(Duration.ofMillis(10), 64 << 20))
            .build();

    private static final int WAIT_S = 60;

    @TempDir
    private Path directory;

    private final List<String> lines = Collections.synchronizedList(new ArrayList<>());

    static Worker join(Path home) throws IOException {
        return Waybill.connect(home, "keeper").settings(SETTINGS).join();
    }

    static StateStore store(Worker worker) {
        return worker.broker().state(STORE, StatePolicy.KEEP.onDisk());
    }

    /** Entries of 8 KiB, so that a full disk has no room for their file. */
    static void put(StateStore store, int round) {
        for (int i = 0; i < ENTRIES; i++) {
            store.put("key" + i, Value.list(Value.of(round), Value.of(".".repeat(8 << 10))));
        }
    }

    static int roundOf(Value value) {
        return (int) ((Value.Int) ((Value.Items) value).values().get(0)).value();
    }

    private static StateFiles files(Path home) {
        Host host = Host.real();
        return new StateFiles(home.resolve("workers/0-keeper"), 0, 1, host.files(), host.clock());
    }

    /** Reads the file as the next incarnation would; it throws when the file is not whole. */
    private static Set<Integer> roundsOnDisk(Path home) {
        return files(home).read(OWNER, STORE).stream()
                .map(record -> roundOf(record.value()))
                .collect(Collectors.toSet());
    }

    private ChildJvm start(Path home) throws IOException {
        return ChildJvm.start("keeper", List.of(), KeepingMain.class, List.of(home.toString()), lines::add);
    }

    private String log() {
        return String.join("\n", lines);
    }

    @ParameterizedTest
    @EnumSource
    @Tag("ci")
    void keepsTheLastFileWhileTheDiskIsFullAndWritesAgainAfterwards(SmallDisk.Kind kind) throws Exception {
        try (SmallDisk disk = SmallDisk.mount(kind, 128, directory)) {
            Path home = disk.path().resolve("home");
            try (ChildJvm first = start(home)) {
                first.response("ready 0", WAIT_S, this::log);
                for (int round = 1; round < 6; round += 2) {
                    int before = round;
                    setRound(first, before);
                    Waits.until(this::log, () -> roundsOnDisk(home).equals(Set.of(before)));
                    disk.fill();
                    for (int i = 0; i < 20; i++) {
                        setRound(first, before + 1);
                        assertThat(roundsOnDisk(home)).as("on a full disk").containsExactly(before);
                    }
                    disk.free();
                    Waits.until(this::log, () -> roundsOnDisk(home).equals(Set.of(before + 1)));
                }
                disk.fill();
                setRound(first, 7);
                first.say("leave");
                first.response("left", WAIT_S, this::log);
            }
            assertThat(roundsOnDisk(home)).as("after it has left").containsExactly(6);
            disk.free();
            try (ChildJvm second = start(home)) {
                second.response("ready 6", WAIT_S, this::log);
                setRound(second, 8);
                second.say("leave");
                second.response("left", WAIT_S, this::log);
            }
            assertThat(roundsOnDisk(home)).as("after the next one has left").containsExactly(8);
        }
    }

    private void setRound(ChildJvm keeper, int round) throws Exception {
        keeper.say(Integer.toString(round));
        keeper.response("round " + round, WAIT_S, this::log);
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
