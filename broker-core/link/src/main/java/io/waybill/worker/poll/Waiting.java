package io.waybill.worker.poll;

/** Idle strategy of a worker's threads while they wait for messages. */
public enum Waiting {

    /** Polls without pause: lowest latency, one core. */
    SPIN(Long.MAX_VALUE, Long.MAX_VALUE),

    /** Polls for some microseconds while that pays, then sleeps until a sender rings: the default. */
    BALANCED(120_000, 500_000),

    /** Sleeps almost immediately. */
    LOW_CPU(5_000, 20_000);

    private final long spinNs;
    private final long callerNs;

    Waiting(long spinNs, long callerNs) {
        this.spinNs = spinNs;
        this.callerNs = callerNs;
    }

    /** Returns the time to poll without pause after the last message. */
    long spinNs() {
        return spinNs;
    }

    /** Returns the time that a thread polls for its own response before it leaves that to the poller and sleeps. */
    long callerNs() {
        return callerNs;
    }
}
