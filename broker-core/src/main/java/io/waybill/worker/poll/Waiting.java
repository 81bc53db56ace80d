package io.waybill.worker.poll;

/** Idle strategy of a worker's threads while they wait for messages. */
public enum Waiting {

    /** Polls without pause: lowest latency, one core. */
    SPIN(Long.MAX_VALUE, Long.MAX_VALUE),

    /** Polls for some microseconds as long as that pays, then sleeps until a sender rings: the default. */
    BALANCED(120_000, 500_000),

    /** Sleeps almost at once. */
    LOW_CPU(5_000, 20_000);

    private final long spinNs;
    private final long callerNs;

    Waiting(long spinNs, long callerNs) {
        this.spinNs = spinNs;
        this.callerNs = callerNs;
    }

    /** Returns how long to poll without pause after the last message. */
    long spinNs() {
        return spinNs;
    }

    /** Returns how long a thread polls for its own response before it leaves that to the poller and sleeps. */
    long callerNs() {
        return callerNs;
    }
}
