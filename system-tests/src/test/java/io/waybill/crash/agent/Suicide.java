package io.waybill.crash.agent;

import com.kenai.jffi.Function;
import com.kenai.jffi.Invoker;
import com.kenai.jffi.Library;
import com.kenai.jffi.Type;
import java.util.concurrent.atomic.AtomicLong;

/** Ends this process as {@code kill -9} does, at the n-th passing of a point. Thread-safe. */
public final class Suicide {

    private static final int SIGKILL = 9;

    private static final Function KILL =
            new Function(Library.getDefault().getSymbolAddress("kill"), Type.SINT32, Type.SINT32, Type.SINT32);
    private static final int PID = (int) ProcessHandle.current().pid();
    private static final AtomicLong LEFT = new AtomicLong(Long.MAX_VALUE);

    private Suicide() {}

    static void after(long passings) {
        LEFT.set(passings);
    }

    /** The changed code comes by. */
    public static void passed() {
        if (LEFT.decrementAndGet() == 0) {
            Invoker.getInstance().invokeNNrN(KILL, PID, SIGKILL);
        }
    }
}
