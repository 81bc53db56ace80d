package io.waybill.crash;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Value;
import io.waybill.api.tool.ToolCommand;
import io.waybill.api.tool.ToolDescription;
import io.waybill.api.tool.ToolRun;
import io.waybill.tool.ToolUser;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * Runs a command of the server all the time, as a user of {@code waybill} does, while the server is killed, paused or updated. A run has all
 * lines in their order, or the first of them and a reason that the faults explain.
 *
 * <p><b>Threads.</b> It has one of its own, until it is closed.
 */
final class CommandRuns implements AutoCloseable {

    /** Source of the command, as a component of a bundle. */
    static final String COMPONENT = "@Component public final class Numbers implements ToolCommand {"
            + " public ToolDescription description() { return ToolDescription.of(\"numbers\", \"Counts.\"); }"
            + " public void run(ToolRun run) { for (int i = 0; i < 200; i++) { run.line(Integer.toString(i)); } } }";

    private static final String NAME = "numbers";
    private static final int LINES = 200;
    private static final long LIMIT_NS = TimeUnit.SECONDS.toNanos(60);
    private static final Set<ErrorCode> EXPECTED =
            Set.of(ErrorCode.WORKER_LOST, ErrorCode.TIMED_OUT, ErrorCode.CLOSED, ErrorCode.HANDLER_GONE);

    private final Worker worker;
    private final ToolUser user;
    private final List<String> problems = new ArrayList<>(); // guarded by itself
    private final Thread thread = new Thread(this::run, "command-runs");
    private long complete; // by the thread
    private volatile boolean stopped;

    private CommandRuns(Worker worker) {
        this.worker = worker;
        this.user = new ToolUser(worker, Fleet.SERVER);
        this.thread.setDaemon(true);
    }

    static CommandRuns start(Path home) throws IOException {
        CommandRuns runs = new CommandRuns(Waybill.connect(home, "operator").join());
        runs.thread.start();
        return runs;
    }

    /** Returns the same command as {@link #COMPONENT}. */
    static ToolCommand command() {
        return new ToolCommand() {
            @Override
            public ToolDescription description() {
                return ToolDescription.of(NAME, "Counts.").limit(Duration.ofMinutes(1));
            }

            @Override
            public void run(ToolRun run) {
                for (int i = 0; i < LINES; i++) {
                    run.line(Integer.toString(i));
                }
            }
        };
    }

    private void run() {
        while (!stopped) {
            runOnce();
            CrashRun.pass(5);
        }
    }

    /** Returns whether the run was complete. */
    private boolean runOnce() {
        try {
            ToolUser.Outcome outcome = user.run(NAME);
            check(outcome);
            if (outcome.exitCode() == 0) {
                complete++;
                return true;
            }
        } catch (CallException e) {
            boolean isOfEarlierIncarnation = e.code() == ErrorCode.REFUSED
                    && String.valueOf(e.getMessage()).contains(" has no run ");
            if (!EXPECTED.contains(e.code()) && !isOfEarlierIncarnation) {
                isWrong("failed with " + e);
            }
        } catch (RuntimeException | Error e) {
            isWrong("failed with " + e);
        }
        return false;
    }

    private void check(ToolUser.Outcome outcome) {
        List<String> lines = outcome.lines();
        for (int i = 0; i < lines.size(); i++) {
            if (!lines.get(i).equals(Integer.toString(i))) {
                isWrong("has the line " + lines.get(i) + " where " + i + " is expected");
                return;
            }
        }
        if (outcome.exitCode() == 0 && lines.size() != LINES) {
            isWrong("is complete with " + lines.size() + " lines of " + LINES);
        } else if (outcome.exitCode() != 0 && !isExplained(outcome.error())) {
            isWrong("ended with " + outcome.error());
        }
    }

    private static boolean isExplained(String error) {
        return error.contains("its bundle has stopped")
                || error.contains("its user has left") // while one of the two was paused
                || error.contains("has no command " + NAME)
                || error.contains("too many commands run"); // those that a paused user has left
    }

    private void isWrong(String what) {
        synchronized (problems) {
            problems.add("a run of the command " + NAME + " " + what);
        }
    }

    /** Ends the runs, after one that is complete. Returns what was wrong. */
    List<String> end() throws InterruptedException {
        stopped = true;
        thread.join(LIMIT_NS / 1_000_000);
        long untilNs = System.nanoTime() + LIMIT_NS;
        while (!runOnce()) {
            if (System.nanoTime() > untilNs) {
                isWrong("was never complete after the last fault, and " + complete + " times before");
                break;
            }
            CrashRun.pass(50);
        }
        requireNoneStuck();
        synchronized (problems) {
            return List.copyOf(problems);
        }
    }

    private void requireNoneStuck() {
        Value commands = user.call("tools.list", Map.of()).get(Value.of("commands"));
        for (Value each : ((Value.Items) commands).values()) {
            Map<Value, Value> fields = ((Value.Dict) each).entries();
            if (!fields.get(Value.of("stuck")).equals(Value.of(0))
                    || !fields.get(Value.of("failed")).equals(Value.of(0))) {
                isWrong("counts as stuck or failed: " + fields);
            }
        }
    }

    @Override
    public void close() throws IOException {
        stopped = true;
        worker.close();
    }
}
