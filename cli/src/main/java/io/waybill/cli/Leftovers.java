package io.waybill.cli;

import io.waybill.cli.demo.NodeProcess;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Processes and a directory that must not outlive this process, however it ends, short of being killed.
 *
 * <p><b>Threads.</b> Thread-safe: closed by its maker, or by the JVM's end, whichever comes first. <b>Ownership.</b> Owns what it is
 * given.
 */
final class Leftovers implements AutoCloseable {

    private static final int ATTEMPTS = 20;

    private final TemporaryDirectory directory;
    private final Deque<NodeProcess> processes = new ArrayDeque<>(); // the last one added first; guarded by this
    private boolean closed; // guarded by this

    private Leftovers(TemporaryDirectory directory) {
        this.directory = directory;
    }

    static Leftovers watch(TemporaryDirectory directory) {
        Leftovers leftovers = new Leftovers(directory);
        Runtime.getRuntime().addShutdownHook(new Thread(leftovers::closeAtEnd, "waybill-leftovers"));
        return leftovers;
    }

    Path directory() {
        return directory.path();
    }

    synchronized void add(NodeProcess process) {
        if (closed) {
            process.close();
            throw new IllegalStateException("interrupted");
        }
        processes.push(process);
    }

    private void closeAtEnd() {
        try {
            close();
        } catch (IOException e) {
            // there is nobody left to tell
        }
    }

    @Override
    public synchronized void close() throws IOException {
        if (closed) {
            return;
        }
        closed = true;
        processes.forEach(NodeProcess::close);
        for (int attempt = 1; ; attempt++) {
            try {
                directory.close();
                return;
            } catch (IOException e) {
                // this very process may still write there when it is interrupted
                if (attempt == ATTEMPTS) {
                    throw e;
                }
            }
        }
    }
}
