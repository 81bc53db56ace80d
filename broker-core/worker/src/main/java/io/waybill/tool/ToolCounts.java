package io.waybill.tool;

import io.waybill.dispatch.Provider;
import io.waybill.dispatch.ProviderErrors;
import java.util.concurrent.atomic.AtomicLong;

/** Counts of the runs of a command and their outcomes. Thread-safe. Refers to nothing of the command's bundle. */
final class ToolCounts {

    private final Provider provider;
    private final ProviderErrors errors;
    private final AtomicLong runs = new AtomicLong();
    private final AtomicLong failed = new AtomicLong();
    private final AtomicLong stuck = new AtomicLong();

    ToolCounts(Provider provider, ProviderErrors errors) {
        this.provider = provider;
        this.errors = errors;
    }

    void begun() {
        runs.incrementAndGet();
    }

    void failed() {
        failed.incrementAndGet();
        errors.charge(provider);
    }

    void stuck(int change) {
        stuck.addAndGet(change);
    }

    /** Returns the number of runs that were begun. */
    long runs() {
        return runs.get();
    }

    /** Returns the number of runs that threw, or had to be ended. */
    long failures() {
        return failed.get();
    }

    /** Returns the number of runs that were ended, and whose thread continues. */
    long stuckNow() {
        return stuck.get();
    }
}
