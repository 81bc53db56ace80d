package io.waybill.worker.poll;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.home.WorkerDirectory;
import io.waybill.host.Host;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The background poller, with something to poll that misbehaves. */
@Timeout(60)
class PollerTest {

    @TempDir
    private Path directory;

    private final Host host = Host.real();
    private final PollPermit permit = new PollPermit();
    private WorkerDirectory worker;
    private Poller poller;

    /** Throws an error when the poller reads the clock before it sleeps, the first few times. */
    private static final class Failing implements Polled {
        private final CountDownLatch errors = new CountDownLatch(3);
        private final CountDownLatch polledAfterwards = new CountDownLatch(1);

        @Override
        public int poll() {
            if (errors.getCount() == 0) {
                polledAfterwards.countDown();
            }
            return 0;
        }

        @Override
        public int pollAll() {
            return poll();
        }

        @Override
        public void readClock() {
            if (errors.getCount() > 0) {
                errors.countDown();
                throw new StackOverflowError("planted");
            }
        }
    }

    @BeforeEach
    void join() throws IOException {
        worker = Home.open(directory.resolve("home"), host).join("a", JoinOptions.defaults());
        poller = new Poller(
                "a",
                Waiting.BALANCED,
                host.clock(),
                host.threads(),
                new PollTurns("a", permit, worker.cursors(), new FaultAlarm()),
                new HandlerSlots(),
                new Deadlines(),
                worker.cursors(),
                worker.doorbell());
    }

    @AfterEach
    void leave() throws IOException {
        poller.close();
        worker.close();
    }

    @Test
    void givesThePermitBackAndGoesOnAfterAnError() throws Exception {
        Failing failing = new Failing();
        poller.start(failing);
        assertThat(failing.errors.await(10, TimeUnit.SECONDS))
                .as("whether the poller goes on after an error and has the permit again")
                .isTrue();
        assertThat(failing.polledAfterwards.await(10, TimeUnit.SECONDS))
                .as("whether the poller polls after the last error")
                .isTrue();
    }
}
