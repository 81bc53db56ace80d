package io.waybill.tool;

import io.waybill.dispatch.Provider;
import io.waybill.dispatch.ProviderErrors;
import java.util.concurrent.atomic.AtomicLong;

/** What the runs of a command came to. Thread-safe. Refers to nothing of the command's bundle. */
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

    /** Runs that were begun. */
    long runs() {
        return runs.get();
    }

    /** Runs that threw, or had to be ended. */
    long failures() {
        return failed.get();
    }

    /** Runs that were ended, and whose thread goes on. */
    long stuckNow() {
        return stuck.get();
    }
}
