package io.waybill.host;

/** Threads of this JVM. Thread-safe. */
final class HostThreads implements Threads {

    @Override
    public Thread start(String name, Runnable body) {
        Thread thread = new Thread(body, name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }
}
