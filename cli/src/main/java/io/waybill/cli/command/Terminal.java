package io.waybill.cli.command;

import io.waybill.host.NativeCalls;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/** Terminal of standard input. Stateless. */
public final class Terminal {

    private static final int STDIN = 0;
    private static final long TCGETS = 0x5401;
    private static final int TERMIOS_BYTES = 36;

    private Terminal() {}

    /** Returns the lines that are typed at the terminal; empty if standard input is no terminal. */
    public static Optional<BufferedReader> lines() {
        return NativeCalls.load().controlTerminal(STDIN, TCGETS, new byte[TERMIOS_BYTES])
                ? Optional.of(new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)))
                : Optional.empty();
    }
}
