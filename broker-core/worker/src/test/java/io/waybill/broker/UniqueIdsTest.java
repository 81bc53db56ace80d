package io.waybill.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.waybill.host.Host;
import io.waybill.host.SafeFiles;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Ids are given once, whatever the incarnations before have used. */
@Timeout(60)
class UniqueIdsTest {

    private static final int BLOCK = 1 << UniqueIds.BLOCK_BITS;

    private final SafeFiles files = Host.real().files();

    @TempDir
    Path directory;

    private UniqueIds incarnation(int epoch) {
        return new UniqueIds(7, epoch, files, directory.resolve(UniqueIds.FILE));
    }

    private static void take(UniqueIds ids, long count) {
        for (long i = 0; i < count; i++) {
            ids.next();
        }
    }

    @Test
    void haveTheWorkersIdInTheHighBits() {
        long id = incarnation(1).next();
        assertThat(id >>> 48).isEqualTo(7);
        assertThat(id).isPositive();
        assertThat(new UniqueIds(32_767, 1, files, directory.resolve("other")).next())
                .isPositive();
    }

    @Test
    void neverRepeatAfterRestarts() {
        Set<Long> seen = new HashSet<>();
        List<Integer> blocks =
                List.of(0, 2, 0, 1, 3, 0, 0, 0, 0, 0); // whole ones, beside the first, in each incarnation
        for (int epoch = 1; epoch <= blocks.size(); epoch++) {
            UniqueIds ids = incarnation(epoch);
            long left = (long) blocks.get(epoch - 1) * BLOCK;
            for (int i = 0; i < 100; i++) {
                assertThat(seen.add(ids.next())).as("epoch %s", epoch).isTrue();
            }
            take(ids, left);
            assertThat(seen.add(ids.next())).as("the last of epoch %s", epoch).isTrue();
        }
    }

    @Test
    void needNoFileAtFirst() {
        for (int epoch = 1; epoch < 5; epoch++) {
            incarnation(epoch).next();
        }
        assertThat(directory).isEmptyDirectory();
    }

    @Test
    void areGivenOnceToManyThreads() throws Exception {
        UniqueIds ids = incarnation(1);
        take(ids, BLOCK - 1_000); // so that the block ends among them
        Set<Long> seen = ConcurrentHashMap.newKeySet();
        Thread[] threads = new Thread[4];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> {
                for (int n = 0; n < 5_000; n++) {
                    seen.add(ids.next());
                }
            });
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(seen).hasSize(20_000);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "ids 1 next 9 crc 00000000\n",
                "ids 1 next 99999999999999 crc 00000000\n",
                "ids 2 next 9 crc 00000000\n",
                "no file of ids"
            })
    void areRefusedWhenTheFileIsDamaged(String content) throws Exception {
        Files.writeString(directory.resolve(UniqueIds.FILE), content);
        UniqueIds ids = incarnation(1);
        for (int i = 0; i < 2; i++) {
            assertThatIllegalStateException()
                    .isThrownBy(ids::next)
                    .withMessageContaining("no ids")
                    .withMessageContaining(directory.toString());
        }
    }
}
