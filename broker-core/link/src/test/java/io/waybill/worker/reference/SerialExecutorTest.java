package io.waybill.worker.reference;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.Provider;
import io.waybill.host.Host;
import io.waybill.host.Threads;
import io.waybill.testing.core.Waits;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(180)
class SerialExecutorTest {

    private static final ExecutorSettings ONE_TASK = new ExecutorSettings(1, 1, 0, 0, Duration.ofSeconds(10));

    private final AtomicBoolean refuses = new AtomicBoolean();
    private final Threads threads = (name, body) -> {
        if (refuses.get()) {
            throw new OutOfMemoryError("made by the test");
        }
        return Host.real().threads().start(name, body);
    };
    private final HandlerExecutor executor = new HandlerRegistry(
                    ParkingSettings.DEFAULT, threads, Host.real().clock())
            .newExecutor(new Provider("test", "1"), ONE_TASK);
    private final SerialExecutor inOrder = new SerialExecutor(executor);
    private final List<Integer> done = new CopyOnWriteArrayList<>();

    @AfterEach
    void end() {
        executor.close(Duration.ofSeconds(20));
    }

    @Test
    void goesOnAfterAnError() {
        for (int i = 0; i < 4; i++) {
            int number = i;
            inOrder.run(() -> {
                done.add(number);
                if (number % 2 == 0) {
                    throw new InternalError("made by the test");
                }
            });
        }
        Waits.until("all were run", () -> {
            inOrder.start(); // one task has room, and the last may be about to end
            return done.size() == 4;
        });
        assertThat(done).containsExactly(0, 1, 2, 3);
    }

    @Test
    void keepsWhatAFullExecutorDoesNotTake() throws InterruptedException {
        CountDownLatch hold = new CountDownLatch(1);
        CountDownLatch begun = new CountDownLatch(1);
        executor.execute(() -> {
            begun.countDown();
            try {
                hold.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        assertThat(begun.await(20, TimeUnit.SECONDS)).isTrue();
        inOrder.run(() -> done.add(1));
        inOrder.run(() -> done.add(2));
        assertThat(done).isEmpty();

        hold.countDown();
        Waits.until("they were run", () -> {
            inOrder.start();
            return done.size() == 2;
        });
        assertThat(done).containsExactly(1, 2);
    }

    @Test
    void keepsWhatTheHostHasNoThreadFor() {
        refuses.set(true);
        inOrder.run(() -> done.add(1));
        refuses.set(false);
        Waits.until("it was run", () -> {
            inOrder.start();
            return done.size() == 1;
        });
    }
}
