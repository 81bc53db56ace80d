package io.waybill.host;

import java.util.function.BooleanSupplier;
import org.agrona.concurrent.UnsafeBuffer;

/** The real host, but that a thread which lets rings wake the poller again may be told of a fault instead, as JDK 17 does late and anywhere. */
public final class FaultyRestores {

    private static final int EPOLL_CTL_MOD = 3;
    private static final int EPOLLIN = 1;
    private static final int EPOLL_EVENT_BYTES = 16;

    private FaultyRestores() {}

    /** @param isDue asked each time, on the thread that restores */
    public static Host host(BooleanSupplier isDue) {
        return Host.of(new NativeCalls(new FaultyLibC(isDue)));
    }

    private static final class FaultyLibC extends LibC {
        private final BooleanSupplier isDue;

        FaultyLibC(BooleanSupplier isDue) {
            this.isDue = isDue;
        }

        @Override
        int epollCtl(int epoll, int operation, int fd, long event) {
            boolean attends = new UnsafeBuffer(event, EPOLL_EVENT_BYTES).getInt(0) == EPOLLIN;
            if (operation == EPOLL_CTL_MOD && attends && isDue.getAsBoolean()) {
                throw new InternalError("a fault occurred in an unsafe memory access operation");
            }
            return super.epollCtl(epoll, operation, fd, event);
        }
    }
}
