package io.waybill.worker.poll;

/** How a worker's threads wait for messages. */
public enum Waiting {

    /** Poll without pause: lowest latency, one core. */
    SPIN(Long.MAX_VALUE, 0, Long.MAX_VALUE),

    /** Poll for a moment, yield for a while, then sleep until a sender rings: the default. */
    BALANCED(20_000, 100_000, 500_000),

    /** Sleep almost at once. */
    LOW_CPU(1_000, 4_000, 20_000);

    private final long spinNs;
    private final long yieldNs;
    private final long callerNs;

    Waiting(long spinNs, long yieldNs, long callerNs) {
        this.spinNs = spinNs;
        this.yieldNs = yieldNs;
        this.callerNs = callerNs;
    }

    /** How long to poll without pause after the last message. */
    long spinNs() {
        return spinNs;
    }

    /** How long to yield between polls after that. */
    long yieldNs() {
        return yieldNs;
    }

    /** How long a thread polls for the response that it waits for, before it leaves that to the poller and sleeps. */
    long callerNs() {
        return callerNs;
    }
}
