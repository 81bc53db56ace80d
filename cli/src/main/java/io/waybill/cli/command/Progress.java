package io.waybill.cli.command;

import io.waybill.host.Threads;
import java.io.PrintWriter;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Progress report on a terminal about a wait that lasts longer than {@value #QUIET_MS} ms. Programs see a line only if
 * the wait has an obstacle.
 *
 * <p><b>Threads.</b> One of its own during a wait.
 */
public final class Progress {

    private static final long QUIET_MS = 2_000;
    private static final long STEP_MS = 1_000;
    private static final String TO_LINE_START = "\r\u001b[K";

    private final CountDownLatch done = new CountDownLatch(1);
    private final PrintWriter err;

    private Progress(PrintWriter err) {
        this.err = err;
    }

    /**
     * Runs an action that may take a long time.
     *
     * @param what description of the wait; evaluated for every line
     */
    public static <T> T during(Surroundings surroundings, Threads threads, Supplier<String> what, Supplier<T> work) {
        if (surroundings.watcher() == Surroundings.Watcher.PROGRAM) {
            return work.get();
        }
        Progress progress = new Progress(surroundings.err());
        Thread thread = threads.start("waybill-progress", () -> progress.show(what));
        try {
            return work.get();
        } finally {
            progress.end(thread);
        }
    }

    /**
     * Runs an action that another operation may delay.
     *
     * @param what description of the wait
     * @param obstacle operation that must finish first; empty if there is none. Shown once, to programs, too
     */
    public static <T> T during(
            Surroundings surroundings,
            Threads threads,
            String what,
            Supplier<Optional<String>> obstacle,
            Supplier<T> work) {
        if (surroundings.watcher() == Surroundings.Watcher.PERSON) {
            return during(
                    surroundings,
                    threads,
                    () -> what
                            + obstacle.get()
                                    .map(text -> ", and before it " + text)
                                    .orElse(""),
                    work);
        }
        Progress progress = new Progress(surroundings.err());
        Thread thread = threads.start("waybill-progress", () -> progress.showOnce(what, obstacle));
        try {
            return work.get();
        } finally {
            progress.end(thread);
        }
    }

    private void showOnce(String what, Supplier<Optional<String>> obstacle) {
        try {
            while (!done.await(STEP_MS, TimeUnit.MILLISECONDS)) {
                Optional<String> found = obstacle.get();
                if (found.isPresent()) {
                    err.println(what + ", and before it " + found.get());
                    return;
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void show(Supplier<String> what) {
        long shownMs = QUIET_MS;
        boolean shown = false;
        try {
            while (!done.await(shown ? STEP_MS : QUIET_MS, TimeUnit.MILLISECONDS)) {
                err.print(TO_LINE_START + what.get() + " … " + shownMs / 1_000 + " s");
                err.flush();
                shown = true;
                shownMs += STEP_MS;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        if (shown) {
            err.print(TO_LINE_START);
            err.flush();
        }
    }

    private void end(Thread thread) {
        done.countDown();
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
