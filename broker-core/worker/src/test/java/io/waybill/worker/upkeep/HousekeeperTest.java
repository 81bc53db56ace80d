package io.waybill.worker.upkeep;

import io.waybill.host.Clock;
import io.waybill.host.ForwardingClock;
import io.waybill.host.Host;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Workers;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(180)
class HousekeeperTest {

    private final AtomicInteger refreshes = new AtomicInteger();
    /** Throws in the first turns of the housekeeper, which alone refreshes the clock. */
    private final Clock failing = new ForwardingClock(Host.real().clock()) {
        @Override
        public void refresh() {
            switch (refreshes.incrementAndGet()) {
                case 1 -> throw new IllegalStateException("planted");
                case 2 -> throw new StackOverflowError("planted");
                case 3 -> throw new InternalError("planted");
                default -> super.refresh();
            }
        }
    };

    @Test
    void goesOnAfterTurnsThatThrow(@TempDir Path directory) throws Exception {
        try (Workers workers = new Workers(directory, Host.real().withClock(failing))) {
            workers.join("a");
            Waits.until(
                    () -> "a turn of the housekeeper after three that threw; it began " + refreshes.get(),
                    () -> refreshes.get() > 4);
        }
    }
}
