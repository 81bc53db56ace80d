package io.waybill.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.Value;
import io.waybill.api.state.StateEntry;
import io.waybill.api.state.StateFileException;
import io.waybill.api.state.StateFullException;
import io.waybill.api.state.StatePolicy;
import io.waybill.api.state.StatePolicy.WhenFull;
import io.waybill.api.state.StateStore;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.broker.file.StateFiles;
import io.waybill.broker.file.StateRecord;
import io.waybill.dispatch.Provider;
import io.waybill.dispatch.ProviderErrors;
import io.waybill.host.Host;
import io.waybill.host.ManualClock;
import io.waybill.testing.core.Seeds;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Stores that are kept on disk, over several incarnations of their worker. */
@Timeout(300)
class KeptStateTest {

    private static final StatePolicy ON_DISK = StatePolicy.KEEP.onDisk();
    private static final String OWNER = "org.acme.cache";
    private static final StateSettings HOURLY = new StateSettings(Duration.ofHours(1), 1 << 20);
    private static final StateSettings SETTINGS = new StateSettings(Duration.ofMillis(10), 1 << 20);

    @TempDir
    Path directory;

    private Host host = Host.real();
    private Brokers brokers;

    @BeforeEach
    void open() throws IOException {
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwx------"));
        join(SETTINGS);
    }

    private void join(StateSettings settings) {
        StateFiles files = new StateFiles(directory, 3, 7, host.files(), host.clock());
        brokers = new Brokers(
                new TestBackend(), new ProviderErrors(), host, new KeptStates(files, settings, "self", host));
    }

    private void joinAgain() {
        brokers.close();
        join(SETTINGS);
    }

    @AfterEach
    void close() {
        brokers.close();
    }

    private OwnedBroker broker() {
        return brokers.open(new Provider(OWNER, "1.0.0"));
    }

    private StateStore kept(String name) {
        return broker().state(name, ON_DISK);
    }

    private Path file() {
        return directory.resolve("state/org.acme.cache@responses.state");
    }

    @Test
    void findsEveryKindOfValueAgain() {
        Value deep = Value.of(1);
        for (int i = 0; i < StateStore.MAX_DEPTH; i++) {
            deep = Value.list(deep);
        }
        Map<String, Value> values = new LinkedHashMap<>();
        values.put("none", Value.NONE);
        values.put("bool", Value.of(true));
        values.put("int", Value.of(Long.MIN_VALUE));
        values.put("float", Value.of(0.5));
        values.put("complex", new Value.Complex(1, 2));
        values.put("text \u20ac", Value.of("\u20ac".repeat(70_000)));
        values.put("bytes", Value.of(new byte[300_000]));
        values.put("deep", deep);
        values.put("tuple", Value.tuple(Value.of("a"), Value.NONE));
        values.put("dict", new Value.Dict(Map.of(Value.of("k"), Value.of(1))));
        values.put("device", new Value.OfDevice(Device.CPU));
        values.put("dtype", new Value.OfDType(DType.FLOAT32));
        values.forEach(kept("responses")::put);
        joinAgain();
        StateStore store = kept("responses");
        values.forEach((key, value) -> assertThat(store.get(key)).as(key).contains(value));
        assertThat(store.entries("").stream().map(StateEntry::key)).containsExactlyElementsOf(values.keySet());
    }

    @Test
    void writesBehindTheCall() {
        kept("responses").put("a", Value.of(1));
        Waits.until("the file is there", () -> Files.exists(file()));
    }

    @Test
    void keepsWhatAsksForItAlone() {
        broker().state("memory").put("a", Value.of(1));
        kept("responses").put("a", Value.of(1));
        kept("responses").put("b", Value.of(1));
        kept("responses").remove("a");
        joinAgain();
        assertThat(broker().state("memory").get("a")).isEmpty();
        assertThat(kept("responses").get("a")).isEmpty();
        assertThat(kept("responses").get("b")).contains(Value.of(1));
        assertThat(brokers.open(new Provider("org.acme.other", "1"))
                        .state("responses", ON_DISK)
                        .entries(""))
                .isEmpty();
    }

    @Test
    void removesTheFileOfAStoreThatIsNoLongerKept() {
        kept("responses").put("a", Value.of(1));
        broker().state("responses", StatePolicy.KEEP);
        joinAgain();
        assertThat(file()).doesNotExist();
        kept("responses").put("a", Value.of(1));
        joinAgain();
        broker().state("responses", StatePolicy.KEEP);
        joinAgain();
        assertThat(kept("responses").get("a")).isEmpty();
    }

    @Test
    void doesNotBringBackWhatWasRemovedMeanwhile() {
        kept("responses").put("a", Value.of(1));
        joinAgain();
        kept("responses").remove("a");
        broker().state("responses", StatePolicy.KEEP);
        assertThat(kept("responses").get("a")).isEmpty();
        joinAgain();
        assertThat(kept("responses").get("a")).isEmpty();
    }

    @Test
    void countsTheTimeBetweenIncarnations() {
        ManualClock clock = new ManualClock();
        brokers.close();
        host = Host.real().withClock(clock);
        join(SETTINGS);
        StatePolicy aging = new StatePolicy(Duration.ofSeconds(10), Duration.ZERO, WhenFull.REFUSE).onDisk();
        StateStore store = broker().state("responses", aging);
        store.put("old", Value.of(1));
        clock.advance(Duration.ofSeconds(6));
        store.put("new", Value.of(1));
        brokers.close();
        clock.advance(Duration.ofSeconds(5));
        join(SETTINGS);
        assertThat(broker().state("responses", aging).entries("").stream().map(StateEntry::key))
                .containsExactly("new");
    }

    @Test
    void boundsTheBytesOfAllKeptStores() {
        brokers.close();
        join(new StateSettings(Duration.ofHours(1), 1000));
        kept("responses").put("a", Value.of(new byte[500]));
        assertThatExceptionOfType(StateFullException.class)
                .isThrownBy(() -> kept("others").put("a", Value.of(new byte[500])))
                .withMessageContaining("of at most 1000 bytes (state.max-kept-bytes)");
        broker().state("memory").put("a", Value.of(new byte[500]));
        kept("responses").clear();
        kept("others").put("a", Value.of(new byte[500]));
    }

    @Test
    void refusesAnOwnerWithoutAFileName() {
        OwnedBroker odd = brokers.open(new Provider("../odd", "1"));
        assertThatThrownBy(() -> odd.state("responses", ON_DISK))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("the state of ../odd can't be kept on disk");
        odd.state("responses").put("a", Value.of(1));
    }

    @Test
    void namesADamagedFileAndServesOn() throws IOException {
        kept("responses").put("a", Value.of("text"));
        brokers.close();
        byte[] whole = Files.readAllBytes(file());
        Random random = Seeds.random();
        for (int at = 0; at < whole.length; at++) {
            byte[] damaged = whole.clone();
            damaged[at] ^= (byte) (1 << random.nextInt(8));
            requireRefused(damaged, "byte " + at);
        }
        for (int length = 0; length < whole.length; length++) {
            requireRefused(Arrays.copyOf(whole, length), "length " + length);
        }
        requireRefused(Arrays.copyOf(whole, whole.length + 1), "one byte more");
        Files.delete(file());
        join(SETTINGS);
        assertThat(kept("responses").entries("")).isEmpty();
    }

    private void requireRefused(byte[] content, String what) throws IOException {
        Files.write(file(), content);
        join(SETTINGS);
        assertThatExceptionOfType(StateFileException.class)
                .as(what)
                .isThrownBy(() -> kept("responses"))
                .withMessageContaining(file().toString())
                .withMessageContaining("move the file away");
        broker().state("responses").put("b", Value.of(1)); // the worker is up
        brokers.close();
        assertThat(Files.readAllBytes(file())).isEqualTo(content);
    }

    @Test
    void believesNoLengthEvenUnderARightChecksum() throws IOException {
        kept("responses").put("a", Value.of("text"));
        brokers.close();
        byte[] whole = Files.readAllBytes(file());
        int entry = 64 + OWNER.length() + "responses".length();
        for (int at : List.of(16, 32, 42, 44, entry + 16, entry + 20, entry + 24 + 1 + 1)) {
            for (int value : List.of(Integer.MAX_VALUE, -1, 0, 1 << 16)) {
                ByteBuffer forged = ByteBuffer.wrap(whole.clone()).order(ByteOrder.LITTLE_ENDIAN);
                forged.putInt(at, value).putInt(12, 0);
                java.util.zip.CRC32C checksum = new java.util.zip.CRC32C();
                checksum.update(forged.array(), entry, whole.length - entry);
                checksum.update(forged.array(), 0, entry);
                forged.putInt(12, (int) checksum.getValue());
                requireRefused(forged.array(), "value " + value + " at " + at);
            }
        }
    }

    @Test
    void triesAgainUntilItCanWrite() throws IOException {
        Files.write(directory.resolve("state"), new byte[0]); // a file, where the directory should be
        StateStore store = broker().state("memory");
        store.put("a", Value.of(1));
        assertThatExceptionOfType(StateFileException.class).isThrownBy(() -> kept("responses"));
        Files.delete(directory.resolve("state"));
        StateStore later = kept("responses");
        Files.write(directory.resolve("state"), new byte[0]);
        later.put("a", Value.of(1));
        Waits.until("a write failed", () -> brokersFailures() > 0);
        assertThat(later.get("a")).contains(Value.of(1));
        Files.delete(directory.resolve("state"));
        Waits.until("the file is there", () -> Files.exists(file()));
    }

    private long brokersFailures() {
        return brokers.kept().failing();
    }

    @Test
    void isOnDiskOnceItIsSynced() {
        brokers.close();
        join(HOURLY);
        StateStore store = kept("responses");
        store.put("a", Value.of(1));
        store.sync();
        assertThat(onDisk()).as("keys that a crash leaves").containsExactly("a");
        store.sync();
        store.put("b", Value.of(2));
        store.remove("a");
        store.sync();
        assertThat(onDisk()).as("keys that a crash leaves").containsExactly("b");
    }

    /** Returns the keys in the file, as the next incarnation after a crash reads them. */
    private List<String> onDisk() {
        return new StateFiles(directory, 3, 8, host.files(), host.clock())
                .read(OWNER, "responses").stream().map(StateRecord::key).toList();
    }

    @Test
    void isOnDiskForEachThreadThatSyncsIt() throws Exception {
        brokers.close();
        join(HOURLY);
        StateStore store = kept("responses");
        store.put("large", Value.of(new byte[1 << 18])); // a write takes a while
        List<CompletableFuture<Void>> threads = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            String name = "thread " + i;
            threads.add(CompletableFuture.runAsync(
                    () -> {
                        for (int n = 0; n < 25; n++) {
                            store.put(name + ", put " + n, Value.of(n));
                            store.sync();
                            assertThat(onDisk())
                                    .as("keys on the disk after sync()")
                                    .contains(name + ", put " + n);
                        }
                    },
                    each -> new Thread(each).start()));
        }
        CompletableFuture.allOf(threads.toArray(CompletableFuture[]::new)).get(200, TimeUnit.SECONDS);
    }

    @Test
    void saysThatItCanNotBeSynced() throws IOException {
        brokers.close();
        join(HOURLY);
        StateStore store = kept("responses");
        Files.write(directory.resolve("state"), new byte[0]); // a file, where the directory should be
        store.put("a", Value.of(1));
        for (int i = 0; i < 2; i++) {
            assertThatExceptionOfType(StateFileException.class)
                    .as("sync() %d", i)
                    .isThrownBy(store::sync)
                    .withMessageContaining("the store responses of " + OWNER + " can't be written to " + file());
        }
        assertThat(brokersFailures()).isEqualTo(1);
        assertThat(store.get("a")).contains(Value.of(1));
        Files.delete(directory.resolve("state"));
        store.sync();
        assertThat(onDisk()).containsExactly("a");
        assertThat(brokersFailures()).isZero();
    }

    @Test
    void isSyncedOnlyWhereItIsOnDisk() {
        StateStore memory = broker().state("memory");
        assertThatThrownBy(memory::sync)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining(
                        "the store memory of org.acme.cache ends with the worker: expected StatePolicy.onDisk()");
        StateStore store = kept("responses");
        brokers.close();
        assertThatThrownBy(store::sync).as("after the broker was revoked").isInstanceOf(IllegalStateException.class);
    }

    @Test
    void removesIncompleteFiles() throws IOException {
        kept("responses").put("a", Value.of(1));
        brokers.close();
        Path incomplete = Files.write(file().resolveSibling("." + file().getFileName() + ".new"), new byte[100]);
        join(SETTINGS);
        assertThat(incomplete).doesNotExist();
        assertThat(kept("responses").get("a")).contains(Value.of(1));
    }
}
