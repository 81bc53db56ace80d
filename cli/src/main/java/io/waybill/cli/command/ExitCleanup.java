package io.waybill.cli.command;

import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Closes processes, and then the directory of their files, when this process ends, unless it is killed.
 *
 * <p><b>Threads.</b> Thread-safe: closed by its creator, or by the JVM's end, whichever comes first. <b>Ownership.</b>
 * Owns what is added.
 */
public final class ExitCleanup implements AutoCloseable {

    private static final int ATTEMPTS = 20;

    private final Surroundings surroundings;
    private final Closeable directory;
    private final Deque<Runnable> processes = new ArrayDeque<>(); // the last one added first; guarded by this
    private boolean closed; // guarded by this

    private ExitCleanup(Surroundings surroundings, Closeable directory) {
        this.surroundings = surroundings;
        this.directory = directory;
    }

    /**
     * Creates one.
     *
     * @param directory closed when the processes have ended
     */
    public static ExitCleanup watch(Surroundings surroundings, Closeable directory) {
        ExitCleanup leftovers = new ExitCleanup(surroundings, directory);
        Runtime.getRuntime().addShutdownHook(new Thread(leftovers::closeAtEnd, "waybill-leftovers"));
        return leftovers;
    }

    /**
     * Adds a process.
     *
     * @param ending ends the process; may be called more than once
     */
    public synchronized void add(Runnable ending) {
        if (closed) {
            ending.run();
            throw new IllegalStateException("interrupted");
        }
        processes.push(ending);
    }

    private void closeAtEnd() {
        if (isClosed()) {
            return;
        }
        surroundings.err().println();
        surroundings.err().println("interrupted: cleaning up");
        // what the interrupted thread runs into from here on is of no interest
        surroundings.out().close();
        surroundings.err().close();
        try {
            close();
        } catch (IOException e) {
            // no reader is left
        }
    }

    private synchronized boolean isClosed() {
        return closed;
    }

    @Override
    public synchronized void close() throws IOException {
        if (closed) {
            return;
        }
        closed = true;
        processes.forEach(Runnable::run);
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
