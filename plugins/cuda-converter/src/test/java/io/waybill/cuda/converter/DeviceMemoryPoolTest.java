package io.waybill.cuda.converter;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The account of a device's memory, without a device. */
@Timeout(60)
class DeviceMemoryPoolTest {

    private static final long SIZE = 1 << 20;

    private final List<MemoryBlock> freed = new ArrayList<>();
    private final DeviceMemoryPool pool = new DeviceMemoryPool(
            new DeviceMemoryPool.Source() {
                private long next = SIZE;

                @Override
                public long allocate(long sizeBytes) {
                    next += sizeBytes;
                    return next;
                }

                @Override
                public void free(MemoryBlock block) {
                    freed.add(block);
                }
            },
            4 * SIZE,
            4 * SIZE);

    @Test
    void takesOtherLimitsWhileBlocksAreInUse() throws Exception {
        List<MemoryBlock> blocks = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            blocks.add(pool.take(SIZE));
        }
        pool.giveBack(blocks.get(0));
        pool.giveBack(blocks.get(1));

        pool.change(new MemoryLimits(3 * SIZE, SIZE));
        pool.trim();
        assertThat(freed).as("what was cached beyond the limit").containsExactly(blocks.get(0));
        assertThat(pool.inUseBytes()).isEqualTo(2 * SIZE);
        assertThat(pool.take(SIZE)).as("what is cached still").isEqualTo(blocks.get(1));
        RejectedMessageException full = catchThrowableOfType(RejectedMessageException.class, () -> pool.take(SIZE));
        assertThat(full.code()).isEqualTo(ErrorCode.DEVICE_FULL);

        pool.change(new MemoryLimits(0, 0));
        pool.take(SIZE);
        assertThat(pool.inUseBytes()).isEqualTo(4 * SIZE);
        assertThat(pool.giveBack(blocks.get(2)))
                .as("more is cached than may be")
                .isTrue();
    }

    @Test
    void freesWhatIsCachedWhenItClosesAndWhatIsGivenBackLater() throws Exception {
        MemoryBlock cached = pool.take(SIZE);
        MemoryBlock inUse = pool.take(SIZE);
        pool.giveBack(cached);

        pool.close();
        assertThat(freed).as("what was cached").containsExactly(cached);
        assertThat(pool.giveBack(inUse)).as("it is to be freed").isTrue();
        pool.trim();
        assertThat(freed).as("what was in use").containsExactly(cached, inUse);
        assertThat(pool.inUseBytes()).isZero();
    }
}
