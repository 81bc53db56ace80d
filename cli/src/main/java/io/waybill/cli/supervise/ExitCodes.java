package io.waybill.cli.supervise;

import java.util.Map;

/** Meaning of the exit codes of nodes. Stateless. */
public final class ExitCodes {

    /** Exit code of a supervised node that an operator stopped: it is not restarted. */
    public static final int STAYS_STOPPED = 3;

    /** Exit code of a failed command, and of a JVM that could not be created. */
    static final int FAILED = 1;

    /** Exit code of an invalid command line: a restart would end the same way. */
    static final int USAGE = 2;

    /** Exit code of a process that could not be started. */
    static final int NOT_FOUND = 127;

    private static final int FIRST_SIGNAL = 128;
    private static final int MAX_SIGNAL = 64;
    private static final int NOT_EXECUTABLE = 126;

    private static final Map<Integer, String> SIGNALS = Map.ofEntries(
            Map.entry(1, "SIGHUP"),
            Map.entry(2, "SIGINT"),
            Map.entry(3, "SIGQUIT"),
            Map.entry(4, "SIGILL"),
            Map.entry(5, "SIGTRAP"),
            Map.entry(6, "SIGABRT"),
            Map.entry(7, "SIGBUS"),
            Map.entry(8, "SIGFPE"),
            Map.entry(9, "SIGKILL"),
            Map.entry(11, "SIGSEGV"),
            Map.entry(13, "SIGPIPE"),
            Map.entry(15, "SIGTERM"),
            Map.entry(24, "SIGXCPU"),
            Map.entry(25, "SIGXFSZ"),
            Map.entry(31, "SIGSYS"));

    private ExitCodes() {}

    static String explain(int exitCode) {
        int signal = exitCode - FIRST_SIGNAL;
        if (signal > 0 && signal <= MAX_SIGNAL) {
            String name = SIGNALS.get(signal);
            return "killed by signal " + signal + (name == null ? "" : " (" + name + ")");
        }
        switch (exitCode) {
            case 0:
                return "exit code 0: it ended as it does when it is told to stop";
            case FAILED:
                return "exit code 1: it failed, see its last lines";
            case USAGE:
                return "exit code 2: it was started wrongly";
            case STAYS_STOPPED:
                return "exit code 3: it was stopped by waybill stop";
            case NOT_EXECUTABLE, NOT_FOUND:
                return "exit code " + exitCode + ": the program could not be run";
            default:
                return "exit code " + exitCode;
        }
    }
}
