package io.waybill.dispatch;

import io.waybill.host.Threads;

/** Plain threads for tests. */
public final class DaemonThreads implements Threads {

    @Override
    public Thread start(String name, Runnable body) {
        Thread thread = new Thread(body, name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }
}
