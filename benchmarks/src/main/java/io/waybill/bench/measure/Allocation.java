package io.waybill.bench.measure;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;

/** Memory that the threads of this process have allocated. */
public final class Allocation {

    private Allocation() {}

    /** Bytes, over all threads that are alive. */
    public static long ofThisProcess() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long sum = 0;
        for (long bytes : threads.getThreadAllocatedBytes(threads.getAllThreadIds())) {
            sum += Math.max(0, bytes);
        }
        return sum;
    }
}
