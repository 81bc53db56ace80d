package io.waybill.bench.process;

import io.waybill.bench.measure.Figures;
import java.io.EOFException;
import java.io.IOException;

/**
 * The side of a child in what it says to its parent: it prints {@value #READY} when it serves or has joined, then a
 * line of figures if its role has some, and ends when its standard input does.
 */
public final class ChildProcess {

    static final String READY = "ready";

    private ChildProcess() {}

    /** A role of a process. */
    @FunctionalInterface
    public interface Role {
        void run(String[] arguments) throws Exception;
    }

    public static void report(Figures figures) {
        System.out.println(figures.line());
        System.out.flush();
    }

    public static void ready() {
        System.out.println(READY);
        System.out.flush();
    }

    /** Blocks until the parent has this process {@linkplain Children.Child#begin begin}. */
    public static void awaitBegin() throws IOException {
        if (System.in.read() < 0) {
            throw new EOFException(
                    "this process did not begin: expected a line on standard input, found its end; its parent is gone");
        }
    }

    /**
     * Ends this process when its standard input ends, whatever its main thread does: for a role that spins or blocks.
     */
    public static void endWithParent() {
        Thread end = new Thread(
                () -> {
                    try {
                        awaitEnd();
                    } catch (IOException e) {
                        // as if it had ended
                    }
                    Runtime.getRuntime().halt(1);
                },
                "waybill-bench-end");
        end.setDaemon(true);
        end.start();
    }

    /** Blocks until standard input ends, which it does with the parent process at the latest. */
    public static void awaitEnd() throws IOException {
        while (System.in.read() >= 0) {
            // nothing is said to a child
        }
    }
}
