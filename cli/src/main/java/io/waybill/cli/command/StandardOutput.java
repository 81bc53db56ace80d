package io.waybill.cli.command;

import java.io.IOException;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Standard output, as UTF-8. The first failed write of any command is reported in one line on standard error; later
 * output is dropped. The command continues, because a full disk does not revert its work; a command that only prints
 * calls {@link #requireOpen}.
 *
 * <p><b>Threads.</b> Thread-safe, like a PrintWriter.
 */
public final class StandardOutput extends PrintWriter {

    /** Exit code if the reader of a pipe has closed it: that of a program terminated by SIGPIPE. */
    public static final int CLOSED = 128 + 13;
    /** Exit code if output could not be written: EX_IOERR of sysexits.h. */
    public static final int FAILED = 74;

    private static final int S_IFMT = 0170000;
    private static final int S_IFIFO = 0010000;
    private static final int S_IFSOCK = 0140000;

    private final Watched watched;

    private StandardOutput(Watched watched) {
        super(new OutputStreamWriter(watched, StandardCharsets.UTF_8), true);
        this.watched = watched;
    }

    /**
     * Creates the output.
     *
     * @param descriptor link in /proc to the stream's file
     * @param err for the line about a failed write
     */
    public static StandardOutput of(OutputStream stream, Path descriptor, PrintWriter err) {
        return new StandardOutput(new Watched(stream, descriptor, err));
    }

    /** Returns the exit code of a command that has no other failure to report; 0 if all output was written. */
    public static int exitCode(PrintWriter out) {
        boolean failed = out.checkError();
        if (out instanceof StandardOutput output && output.watched.exitCode != 0) {
            return output.watched.exitCode;
        }
        return failed ? FAILED : 0;
    }

    /** Stops a command that only prints if its output failed. */
    public static void requireOpen(PrintWriter out) {
        if (out.checkError()) {
            throw new EndedException();
        }
    }

    /** Stops a command whose output failed; the failure was already reported. */
    static final class EndedException extends RuntimeException {
        private static final long serialVersionUID = 1L;
    }

    /** Stream of the bytes, which records failures. State is guarded by itself. */
    private static final class Watched extends OutputStream {

        private final OutputStream stream;
        private final Path descriptor;
        private final PrintWriter err;
        private volatile int exitCode; // written by the printing thread, read by the thread that ends the command

        Watched(OutputStream stream, Path descriptor, PrintWriter err) {
            this.stream = stream;
            this.descriptor = descriptor;
            this.err = err;
        }

        @Override
        public void write(int one) throws IOException {
            write(new byte[] {(byte) one}, 0, 1);
        }

        @Override
        public synchronized void write(byte[] bytes, int offset, int length) throws IOException {
            if (exitCode != 0) {
                throw new IOException("standard output failed before");
            }
            try {
                stream.write(bytes, offset, length);
            } catch (IOException e) {
                report(e);
                throw e;
            }
        }

        private void report(IOException failure) {
            boolean isPipe = isPipe();
            exitCode = isPipe ? CLOSED : FAILED;
            err.println(
                    isPipe
                            ? "waybill: standard output was closed by its reader; the rest of it is lost"
                            : "waybill: standard output: expected to write it, found '" + failure.getMessage()
                                    + "'; make room, and run what only prints again");
            err.flush();
        }

        private boolean isPipe() {
            try {
                int kind = (int) Files.getAttribute(descriptor, "unix:mode") & S_IFMT;
                return kind == S_IFIFO || kind == S_IFSOCK;
            } catch (IOException e) {
                return false; // without /proc the kind of failure is unknown
            }
        }
    }
}
