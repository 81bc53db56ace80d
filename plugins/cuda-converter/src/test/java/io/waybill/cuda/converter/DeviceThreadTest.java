package io.waybill.cuda.converter;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The thread of a device, refused once by the host, and interrupted. */
@Timeout(60)
class DeviceThreadTest {

    private static final String NAME = "device-thread-of-the-test";

    private final List<Thread> ran = new CopyOnWriteArrayList<>();
    private final AtomicInteger made = new AtomicInteger();
    private final DeviceThread refusedOnce = new DeviceThread(task -> {
        if (made.getAndIncrement() == 0) {
            throw new OutOfMemoryError("unable to create native thread: made by the test");
        }
        return new Thread(task, NAME);
    });

    private void note() {
        ran.add(Thread.currentThread());
    }

    @Test
    void runsATaskOnTheCallingThreadWhenItIsRefused() {
        refusedOnce.run(this::note);
        assertThat(ran).containsExactly(Thread.currentThread());
        refusedOnce.run(this::note);
        refusedOnce.drain();
        assertThat(ran).hasSize(2);
        assertThat(ran.get(1).getName()).isEqualTo(NAME);
        assertThat(refusedOnce.close()).isTrue();
    }

    @Test
    void runsADelayedTaskWithTheNextOneWhenItIsRefused() {
        refusedOnce.run(this::note, 1);
        refusedOnce.drain();
        assertThat(refusedOnce.close()).as("the delayed one has run").isTrue();
        assertThat(ran).hasSize(1);
    }

    @Test
    void goesOnAfterAnInterrupt() {
        refusedOnce.run(() -> {});
        refusedOnce.run(this::note);
        refusedOnce.drain();
        ran.get(0).interrupt();
        refusedOnce.run(this::note);
        refusedOnce.drain();
        assertThat(ran).hasSize(2).allMatch(thread -> thread.getName().equals(NAME));
        assertThat(refusedOnce.close()).isTrue();
    }
}
