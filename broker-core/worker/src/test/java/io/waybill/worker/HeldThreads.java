package io.waybill.worker;

import io.waybill.host.Host;
import io.waybill.host.Threads;
import java.util.concurrent.CountDownLatch;

/** Threads of which some do not begin before they are released. */
public final class HeldThreads implements Threads {

    private final String held;
    private final CountDownLatch released = new CountDownLatch(1);

    /** @param held how the names of those end that are held */
    public HeldThreads(String held) {
        this.held = held;
    }

    @Override
    public Thread start(String name, Runnable body) {
        return Host.real().threads().start(name, name.endsWith(held) ? () -> afterRelease(body) : body);
    }

    private void afterRelease(Runnable body) {
        try {
            released.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return;
        }
        body.run();
    }

    public void release() {
        released.countDown();
    }
}
