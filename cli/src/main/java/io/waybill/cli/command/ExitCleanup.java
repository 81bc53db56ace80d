package io.waybill.cli.command;

import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.Callable;

/**
 * Cleanup at the exit of this process, unless it is killed: closes processes, and then the directories of their files.
 *
 * <p><b>Threads.</b> Thread-safe: closed by its creator, or on SIGTERM or SIGINT, whichever comes first.
 * <b>Ownership.</b> Owns the added processes and directories.
 */
public final class ExitCleanup implements AutoCloseable {

    private static final int ATTEMPTS = 20;

    private final Surroundings surroundings;
    private final Deque<Runnable> processes = new ArrayDeque<>(); // last added first; guarded by this
    private final Deque<Closeable> directories = new ArrayDeque<>(); // last added first; guarded by this
    private boolean closed; // guarded by this

    private ExitCleanup(Surroundings surroundings) {
        this.surroundings = surroundings;
    }

    /** Creates an empty cleanup and starts watching for signals. */
    public static ExitCleanup watch(Surroundings surroundings) {
        ExitCleanup leftovers = new ExitCleanup(surroundings);
        EndSignals.receive(leftovers::endBy);
        return leftovers;
    }

    /**
     * Creates and adds an object in one step with respect to signals: a half-created object could be neither found nor
     * closed.
     *
     * @throws IOException if the step does
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
     * @param directory closed after the processes have ended
     */
    public synchronized void addDirectory(Closeable directory) {
        directories.push(directory);
    }

    /**
     * Exits after a signal. Holds the lock until the process has ended, so that the interrupted thread can create no
     * further objects.
     */
    private synchronized void endBy(int signal) {
        if (closed) {
            return; // the command has finished
        }
        if (surroundings.watcher() == Surroundings.Watcher.PERSON) {
            surroundings.err().println(); // the terminal echoes the key
        }
        surroundings.err().println("interrupted: cleaning up");
        // later errors of the interrupted thread are irrelevant
        surroundings.out().close();
        surroundings.err().close();
        try {
            close();
        } catch (IOException e) {
            // the reader has closed the stream
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
                // this process may still write there when it is interrupted
                if (attempt == ATTEMPTS) {
                    throw e;
                }
            }
        }
    }
}
