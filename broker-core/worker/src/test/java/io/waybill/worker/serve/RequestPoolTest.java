package io.waybill.worker.serve;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Exchanges that are used again, and those that are not. */
@Timeout(60)
class RequestPoolTest {

    private static final int LARGEST_KEPT_BYTES = 1 << 20;

    private ServingRoom room;
    private RequestPool pool;

    @BeforeEach
    void open(@TempDir Path directory) throws Exception {
        room = new ServingRoom(directory);
        pool = room.pool;
    }

    @AfterEach
    void close() throws IOException {
        room.close();
    }

    private List<PeerRequest> take(int count) {
        List<PeerRequest> taken = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            taken.add(pool.take());
        }
        return taken;
    }

    @Test
    void anExchangeIsMadeWhenNoneIsUnused() {
        List<PeerRequest> taken = take(3);
        assertThat(taken).as("exchanges that are used at once").doesNotHaveDuplicates();
        assertThat(pool.held()).as("exchanges in use").isEqualTo(3);
        assertThat(room.open.slots()).as("slots of exchanges").isEqualTo(3);
    }

    @Test
    void theMostRecentlyUsedIsTakenFirst() {
        List<PeerRequest> taken = take(3);
        taken.forEach(pool::give);
        assertThat(pool.take()).as("the one that was given last").isSameAs(taken.get(2));
        List<PeerRequest> others = take(2);
        assertThat(others).as("the others").containsExactlyInAnyOrder(taken.get(0), taken.get(1));
        assertThat(room.open.slots()).as("slots of exchanges").isEqualTo(3);
    }

    @Test
    void onlyThoseInUseAreHeld() {
        List<PeerRequest> taken = take(3);
        pool.give(taken.get(0));
        assertThat(pool.held()).as("after one was given back").isEqualTo(2);
        pool.give(taken.get(1));
        assertThat(pool.held()).as("after two were given back").isEqualTo(1);
        pool.drop(taken.get(2));
        assertThat(pool.held()).as("after the third was dropped").isZero();
        pool.take();
        assertThat(pool.held()).as("after one was taken again").isEqualTo(1);
    }

    @Test
    void anExchangeThatIsDroppedIsNotUsedAgain() {
        PeerRequest dropped = pool.take();
        pool.drop(dropped);
        pool.drop(dropped);
        assertThat(room.open.slots()).as("slots of exchanges").isZero();
        assertThat(pool.take()).isNotSameAs(dropped);
        assertThat(pool.held()).as("exchanges in use").isEqualTo(1);
    }

    @Test
    void anExchangeWithALargeBufferIsNotKept() {
        PeerRequest large = pool.take();
        large.buffer().reserve(LARGEST_KEPT_BYTES + 1);
        pool.give(large);
        assertThat(pool.held()).as("exchanges in use").isZero();
        assertThat(room.open.slots()).as("slots of exchanges").isZero();
        assertThat(pool.take()).isNotSameAs(large);
    }

    @Test
    void anExchangeWithTheLargestBufferThatIsKeptIsUsedAgain() {
        PeerRequest kept = pool.take();
        kept.buffer().reserve(LARGEST_KEPT_BYTES);
        pool.give(kept);
        assertThat(pool.take()).isSameAs(kept);
    }

    @Test
    void aPoolDoesNotKeepMoreThanItsLimit() {
        take(1100).forEach(pool::give);
        assertThat(room.open.slots()).as("slots of exchanges that are kept").isEqualTo(1025); // the queue and the last
        assertThat(pool.held()).as("exchanges in use").isZero();
    }

    @Test
    void aRequestIsOpenWhileItIsInFlight() throws Exception {
        PeerRequest request = room.read();
        long id = request.view().id();
        assertThat(pool.isOpen(id)).as("in flight").isTrue();
        assertThat(pool.isOpen(id + 1)).as("another id").isFalse();
        request.leave();
        assertThat(pool.isOpen(id)).as("after it left").isFalse();
    }

    @Test
    void noExchangeIsUsedByTwoThreadsAtOnce() throws Exception {
        Set<PeerRequest> inUse = Collections.synchronizedSet(Collections.newSetFromMap(new IdentityHashMap<>()));
        ConcurrentLinkedQueue<String> shared = new ConcurrentLinkedQueue<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            Thread thread = new Thread(() -> {
                for (int round = 0; round < 5_000; round++) {
                    PeerRequest taken = pool.take();
                    if (!inUse.add(taken)) {
                        shared.add("round " + round);
                    }
                    inUse.remove(taken);
                    pool.give(taken);
                }
            });
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(shared).as("exchanges that two threads had").isEmpty();
        assertThat(pool.held()).as("exchanges in use").isZero();
    }
}
