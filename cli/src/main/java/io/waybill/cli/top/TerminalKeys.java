package io.waybill.cli.top;

import io.waybill.host.NativeCalls;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.Optional;

/**
 * Keys of the terminal on standard input: until it is closed, they arrive immediately and are not echoed. Ctrl-C and
 * Ctrl-Z work as usual.
 *
 * <p><b>Threads.</b> One reads; any may close, such as a shutdown hook.
 */
final class TerminalKeys implements AutoCloseable {

    /** Result if no key was pressed. */
    static final int NONE = -1;

    private static final int STDIN = 0;
    private static final long TCGETS = 0x5401;
    private static final long TCSETS = 0x5402;
    // the kernel's struct termios, the same on x86-64 and AArch64
    private static final int TERMIOS_BYTES = 36;
    private static final int LOCAL_FLAGS_AT = 12;
    private static final int CHARACTERS_AT = 17;
    private static final int VTIME = 5;
    private static final int VMIN = 6;
    private static final int ICANON = 2;
    private static final int ECHO = 8;
    private static final byte TENTH_OF_A_SECOND = 1;

    private final NativeCalls calls;
    private final InputStream in;
    private final byte[] before;
    private boolean closed; // guarded by this

    private TerminalKeys(NativeCalls calls, InputStream in, byte[] before) {
        this.calls = calls;
        this.in = in;
        this.before = before;
    }

    /**
     * Switches the terminal.
     *
     * @param in standard input
     * @return empty if it is no terminal
     */
    static Optional<TerminalKeys> open(NativeCalls calls, InputStream in) {
        byte[] before = new byte[TERMIOS_BYTES];
        if (!calls.controlTerminal(STDIN, TCGETS, before)) {
            return Optional.empty();
        }
        TerminalKeys keys = new TerminalKeys(calls, in, before);
        keys.renew();
        return Optional.of(keys);
    }

    /** Switches the terminal again: a shell that stopped and continued the process has switched it back. */
    synchronized void renew() {
        byte[] now = new byte[TERMIOS_BYTES];
        if (closed || !calls.controlTerminal(STDIN, TCGETS, now)) {
            return;
        }
        byte[] wanted = now.clone();
        wanted[LOCAL_FLAGS_AT] &= ~(ICANON | ECHO); // the lowest byte: both architectures are little-endian
        wanted[CHARACTERS_AT + VMIN] = 0;
        wanted[CHARACTERS_AT + VTIME] = TENTH_OF_A_SECOND;
        if (!Arrays.equals(wanted, now)) {
            calls.controlTerminal(STDIN, TCSETS, wanted);
        }
    }

    /** Waits up to a tenth of a second for a key; returns one byte of it, or {@link #NONE}. */
    int read() throws IOException {
        return in.read(); // the end counts as none, too: the terminal reports it when no key was pressed
    }

    /** Restores the terminal's mode. Idempotent. */
    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            calls.controlTerminal(STDIN, TCSETS, before);
        }
    }
}
