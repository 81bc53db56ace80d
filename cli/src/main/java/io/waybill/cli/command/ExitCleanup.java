package io.waybill.cli.command;

import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.Callable;

/**
 * Closes processes, and then the directories of their files, when this process ends, unless it is killed.
 *
 * <p><b>Threads.</b> Thread-safe: closed by its creator, or on SIGTERM or SIGINT, whichever comes first. <b>Ownership.</b>
 * Owns what is added.
 */
public final class ExitCleanup implements AutoCloseable {

    private static final int ATTEMPTS = 20;

    private final Surroundings surroundings;
    private final Deque<Runnable> processes = new ArrayDeque<>(); // the last one added first; guarded by this
    private final Deque<Closeable> directories = new ArrayDeque<>(); // the last one added first; guarded by this
    private boolean closed; // guarded by this

    private ExitCleanup(Surroundings surroundings) {
        this.surroundings = surroundings;
    }

    /** Creates one that has nothing to close yet. */
    public static ExitCleanup watch(Surroundings surroundings) {
        ExitCleanup leftovers = new ExitCleanup(surroundings);
        EndSignals.receive(leftovers::endBy);
        return leftovers;
    }

    /**
     * Makes something and adds it, as one step for a signal: what is half made could be neither found nor closed.
     *
     * @throws IOException when the step does
     */
    public synchronized <T> T make(Callable<T> step) throws IOException {
        try {
            return step.call();
        } catch (IOException | RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new IOException(e.getMessage(), e);
        }
    }

    /**
     * Adds a process.
     *
     * @param ending ends the process; may be called more than once
     */
    public synchronized void add(Runnable ending) {
        processes.push(ending);
    }

    /**
     * Adds a directory.
     *
     * @param directory closed when the processes have ended
     */
    public synchronized void addDirectory(Closeable directory) {
        directories.push(directory);
    }

    /** Holds the lock until the process has ended: what the interrupted thread makes would stay. */
    private synchronized void endBy(int signal) {
        if (closed) {
            return; // the command has come to its end
        }
        if (surroundings.watcher() == Surroundings.Watcher.PERSON) {
            surroundings.err().println(); // the terminal shows the key
        }
        surroundings.err().println("interrupted: cleaning up");
        // what the interrupted thread runs into from here on is of no interest
        surroundings.out().close();
        surroundings.err().close();
        try {
            close();
        } catch (IOException e) {
            // no reader is left
        }
        Runtime.getRuntime().halt(EndSignals.EXIT_CODE + signal);
    }

    @Override
    public synchronized void close() throws IOException {
        if (closed) {
            return;
        }
        closed = true;
        processes.forEach(Runnable::run);
        for (Closeable directory : directories) {
            remove(directory);
        }
    }

    private static void remove(Closeable directory) throws IOException {
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
