package io.waybill.testing;

import io.waybill.host.Host;
import java.io.IOException;
import java.nio.file.Path;

/** A worker of a test, here or in a process of its own. One thread at a time; its creator closes it. */
interface TestedMember extends AutoCloseable {

    /**
     * Starts a worker in this JVM, which is not {@linkplain TestedWorker#ready ready} yet.
     *
     * @param directory of the broker
     */
    static TestedMember start(Path directory, String name, Host on, WorkerSetup setup) throws IOException {
        return setup.isNode()
                ? TestedNode.start(directory, name, on, setup)
                : TestedWorker.join(directory, name, on, setup);
    }

    /**
     * Returns the worker in this JVM.
     *
     * @throws IllegalArgumentException if it is in a process of its own
     */
    TestedWorker here();

    /** Stops in order unless it was killed, and starts the next incarnation. */
    void restart() throws IOException;

    /**
     * Ends it by SIGKILL, and returns when its process is gone.
     *
     * @throws IllegalArgumentException if it is in this JVM
     */
    void kill();

    @Override
    void close() throws IOException;
}
