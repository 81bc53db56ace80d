package io.waybill.python.pool;

import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.handler.Outbox;
import io.waybill.python.link.ProcessLink;
import io.waybill.python.wire.ProcessError;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;

/** One process of the pool. Thread-safe; serves one request at a time. */
final class PoolProcess {

    private static final Logger LOG = System.getLogger(PoolProcess.class.getName());
    /** Max wait for the exit code and the last line of a process after its connection has ended. */
    private static final long EXIT_MS = 10_000;

    private final CompletableFuture<ProcessLink> ready = new CompletableFuture<>();
    private final CountDownLatch over = new CountDownLatch(1); // passed when its output has ended
    private final String token;
    private final PoolSettings settings;
    private final Consumer<PoolProcess> whenGone;
    private volatile Process process; // null until it is started
    private volatile String lastLine = ""; // of its output since its present call, for errors
    private volatile boolean usable = true;
    private volatile boolean leaving;
    private final CountDownLatch gone = new CountDownLatch(1);
    private final ThreadFactory threads;
    private boolean ending; // guarded by this

    /**
     * Starts a process on a separate thread: a replay would treat system calls of a handler's thread as inputs.
     *
     * @param token identifies the process when it connects
     * @param starting called before the start
     * @param ended called when the process has ended, or is about to
     * @param whenGone called when the process has ended and its resources were released
     * @param threads creates its threads, which ignore interrupts
     */
    PoolProcess(
            String token,
            PoolSettings settings,
            ProcessPool.SocketPath socket,
            Consumer<PoolProcess> starting,
            Consumer<PoolProcess> ended,
            Consumer<PoolProcess> whenGone,
            ThreadFactory threads) {
        this.token = token;
        this.settings = settings;
        this.whenGone = whenGone;
        this.threads = threads;
        boolean begun = false;
        try {
            inBackground("python-pool-start", () -> awaitStart(settings.startLimit()));
            inBackground("python-pool-output", () -> run(socket, starting, ended));
            begun = true;
        } finally {
            if (!begun) {
                failed("no thread can be started for a Python process");
            }
        }
    }

    private void run(ProcessPool.SocketPath socket, Consumer<PoolProcess> starting, Consumer<PoolProcess> ended) {
        starting.accept(this);
        try {
            process = start(settings, socket.get());
            if (!usable) {
                process.destroyForcibly(); // killed before the process existed
            }
            process.getOutputStream().close();
            read();
            process.waitFor(); // a function may close the output
            failed(describe(name() + " has ended before it connected"));
        } catch (IOException | RuntimeException e) {
            failed("no Python process can be started: " + e.getMessage());
        } catch (InterruptedException e) {
            failed("the gateway stops");
        } finally {
            over.countDown();
            ended.accept(this);
            if (ready.isCompletedExceptionally()) { // otherwise the end of its connection has the same effect
                kill(Duration.ZERO);
            }
        }
    }

    private void awaitStart(Duration limit) {
        try {
            ready.get(limit.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            failed(name() + " has not connected within " + limit.toMillis() + " ms");
            kill(Duration.ZERO);
        } catch (ExecutionException | InterruptedException e) {
            // the waiting calls receive the reason
        }
    }

    private void inBackground(String name, Runnable body) {
        Thread thread = threads.newThread(body);
        thread.setName(name);
        thread.setDaemon(true);
        thread.setContextClassLoader(
                null); // the JDK's thread that waits for a process inherits it, and outlives this bundle
        thread.start();
    }

    /**
     * Creates a thread that inherits no state of the handler whose call needs a process, and ignores interrupts, which
     * have another purpose.
     */
    static Thread thread(Runnable body) {
        return new Thread(null, body, "python-pool", 0, false) {
            @Override
            public void interrupt() {}
        };
    }

    private Process start(PoolSettings settings, Path socket) throws IOException {
        try {
            return builder(settings, socket).start();
        } catch (IOException e) {
            throw new IOException(
                    "interpreter " + settings.command().get(0) + ": " + e.getMessage()
                            + "; set interpreter in io.waybill.python.cfg",
                    e);
        }
    }

    private ProcessBuilder builder(PoolSettings settings, Path socket) {
        ProcessBuilder builder = new ProcessBuilder(settings.command()).redirectErrorStream(true);
        Map<String, String> environment = builder.environment();
        environment.put("WAYBILL_PYTHON_SOCKET", socket.toString());
        environment.put("WAYBILL_PYTHON_TOKEN", token);
        if (!settings.script().isEmpty()) {
            environment.put("WAYBILL_PYTHON_SCRIPT", settings.script());
        }
        if (!settings.path().isEmpty()) {
            String own = environment.get("PYTHONPATH");
            String path = String.join(File.pathSeparator, settings.path());
            environment.put("PYTHONPATH", own == null ? path : path + File.pathSeparator + own);
        }
        return builder;
    }

    private void read() {
        try (BufferedReader lines =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                LOG.log(Level.INFO, "{0}: {1}", name(), line);
                lastLine = line.isBlank() ? lastLine : line;
            }
        } catch (IOException e) {
            // it has ended
        }
        over.countDown();
    }

    private void failed(String why) {
        usable = false;
        ready.completeExceptionally(new IOException(why));
    }

    String token() {
        return token;
    }

    /** Returns its settings. */
    PoolSettings settings() {
        return settings;
    }

    String name() {
        Process running = process;
        return running == null ? "a Python process" : "Python process " + running.pid();
    }

    void connected(ProcessLink link) {
        ready.complete(link);
    }

    /** Waits until the process is connected. The start continues if the deadline passes first. */
    void awaitReady(long remainingNs) throws RejectedMessageException {
        try {
            ready.get(remainingNs, TimeUnit.NANOSECONDS);
        } catch (ExecutionException e) {
            usable = false;
            throw new RejectedMessageException(ErrorCode.REFUSED, e.getCause().getMessage(), e);
        } catch (TimeoutException e) {
            throw new RejectedMessageException(
                    ErrorCode.TIMED_OUT, ProcessError.TIMED_OUT + name() + " did not start before the deadline", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new RejectedMessageException(ErrorCode.HANDLER_GONE, "the gateway stops", e);
        }
    }

    /** Serves a request. The process becomes unusable after a timeout, an interrupt or its end. */
    void serve(Message message, Outbox outbox) throws RejectedMessageException {
        lastLine = ""; // an earlier call's line is irrelevant for this one
        try {
            ready.join().serve(message, outbox);
        } catch (RejectedMessageException e) {
            if (e.getCause() != null) { // not an error response of the process
                usable = false;
            }
            throw e;
        }
    }

    /** Notes that it gets no further call. */
    void leaves() {
        leaving = true;
    }

    boolean isLeaving() {
        return leaving;
    }

    /** Lets it end when it keeps no object. It is connected. */
    void leaveWhenUnused() {
        ready.join().leaveWhenUnused();
    }

    boolean isUsable() {
        return usable;
    }

    /** Adds to a text how the process ended, and its last line. */
    String describe(String why) {
        String how = "";
        try {
            if (process.waitFor(EXIT_MS, TimeUnit.MILLISECONDS)) {
                over.await(EXIT_MS, TimeUnit.MILLISECONDS); // for its last line
                int code = process.exitValue();
                how = code > 128 ? ", by signal " + (code - 128) : ", with exit code " + code;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return why + how + (lastLine.isEmpty() ? "" : "; its last line: " + lastLine);
    }

    /** Ends the process, and what it has started: it may end by itself within the limit, in the background. */
    void kill(Duration limit) {
        usable = false;
        if (ready.isDone() && !ready.isCompletedExceptionally()) {
            ready.join().close();
        }
        synchronized (this) {
            if (ending) {
                return;
            }
            ending = true;
        }
        try {
            inBackground("python-pool-end", () -> end(limit));
        } catch (OutOfMemoryError e) { // the host gives no thread: at once, here
            end(Duration.ZERO);
        }
    }

    private void end(Duration limit) {
        try {
            Process running = process;
            if (running != null) {
                end(running, limit);
            }
        } finally {
            if (ready.isDone() && !ready.isCompletedExceptionally()) {
                ready.join().unmapped();
            }
            whenGone.accept(this);
            gone.countDown();
        }
    }

    private static void end(Process process, Duration limit) {
        try {
            if (!process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS)) {
                // closes its output, too: what one that ended by itself has printed is still to be read
                process.destroyForcibly().waitFor(EXIT_MS, TimeUnit.MILLISECONDS);
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
        }
        Session.end(process.pid());
    }

    /** Waits until it has ended, after {@link #kill}. */
    void awaitEnd() throws InterruptedException {
        gone.await();
    }
}
