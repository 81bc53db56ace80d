package io.waybill.cli.top;

import io.waybill.host.NativeCalls;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.ShortBuffer;
import java.util.Optional;

/** Size of a terminal. Both numbers are positive. */
record TerminalSize(int rows, int columns) {

    private static final int STDOUT = 1;
    private static final long TIOCGWINSZ = 0x5413;
    private static final int WINSIZE_BYTES = 8;

    /** Returns the current size of the terminal on standard output; empty if it is none, or its size is unknown. */
    static Optional<TerminalSize> ofOutput(NativeCalls calls) {
        byte[] winsize = new byte[WINSIZE_BYTES];
        ShortBuffer size =
                ByteBuffer.wrap(winsize).order(ByteOrder.nativeOrder()).asShortBuffer();
        if (!calls.controlTerminal(STDOUT, TIOCGWINSZ, winsize) || size.get(0) == 0 || size.get(1) == 0) {
            return Optional.empty();
        }
        return Optional.of(new TerminalSize(Short.toUnsignedInt(size.get(0)), Short.toUnsignedInt(size.get(1))));
    }
}
