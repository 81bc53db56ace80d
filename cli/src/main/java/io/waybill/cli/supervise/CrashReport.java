package io.waybill.cli.supervise;

/**
 * Parses the JVM's output about a crash in native code, line by line.
 *
 * <p><b>Threads.</b> Thread-safe: both streams of a process are read concurrently.
 */
final class CrashReport {

    private static final String FRAME = "# Problematic frame:";
    private static final String FILE = "# An error report file with more information is saved as:";

    private String previous = "";
    private String signal = "";
    private String frame = "";
    private String file = "";

    synchronized void line(String line) {
        if (!line.startsWith("#")) {
            return;
        }
        String text = line.substring(1).strip();
        if (previous.equals(FRAME)) {
            frame = text.replaceAll("\\s+", " ");
        } else if (previous.equals(FILE)) {
            file = text;
        } else if (text.matches("SIG[A-Z]+ \\(0x[0-9a-f]+\\).*")) {
            signal = text.replaceAll(" at pc=.*", "");
        }
        previous = line.strip();
    }

    /** Returns the path of the report; empty if there is none. */
    synchronized String file() {
        return file;
    }

    /** Returns the cause of the crash; empty if there was none. */
    synchronized String cause() {
        if (signal.isEmpty()) {
            return "";
        }
        return "the JVM crashed: " + signal + (frame.isEmpty() ? "" : " in " + frame);
    }
}
