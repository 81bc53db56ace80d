package io.waybill.tensor;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.tensor.Tensor;
import io.waybill.tensor.segment.Leases;
import io.waybill.tensor.segment.SegmentPool;
import java.util.List;
import org.agrona.concurrent.ManyToManyConcurrentArrayQueue;

/**
 * Puts tensors into messages: decides what is inlined, what is leased and what is copied into a segment, and keeps what receivers still
 * read.
 *
 * <p><b>Threads.</b> Thread-safe. Each plan belongs to the thread that asked for it, until it is committed or abandoned.
 */
public final class TensorSender {

    /** Plans kept for the next message; more than this many at a time are possible. */
    private static final int PLANS_KEPT = 64;

    private final SegmentPool pool;
    private final Leases leases;
    private final Converters converters;
    private final ManyToManyConcurrentArrayQueue<Plan> plans = new ManyToManyConcurrentArrayQueue<>(PLANS_KEPT);

    public TensorSender(SegmentPool pool, Converters converters) {
        this.pool = pool;
        this.leases = pool.leases();
        this.converters = converters;
    }

    /**
     * Makes everything ready to send tensors in one message: what must be copied into segments is copied when this returns, and the
     * regions of segments that the message names stay as they are until the receiver releases them. The tensors' bytes are read until
     * {@link Plan#write} returned, and no longer.
     *
     * @throws CallException before anything is written: {@link ErrorCode#TOO_LARGE} for too many tensors,
     *     {@link ErrorCode#DEVICE_FULL} when there is no room, {@link ErrorCode#BACK_PRESSURE} when the receiver, or the archive, holds too much,
     *     {@link ErrorCode#DEVICE_UNAVAILABLE} or another of a converter's
     */
    public Plan plan(List<Tensor> tensors, int toWorker) {
        if (tensors.size() > TensorSection.MAX_TENSORS) {
            throw new CallException(
                    ErrorKind.UNKNOWN_ERROR,
                    ErrorCode.TOO_LARGE,
                    MessageId.NONE,
                    "a message has at most " + TensorSection.MAX_TENSORS + " tensors, this one " + tensors.size());
        }
        pool.holder().requireRoom();
        Plan plan = plans.poll();
        if (plan == null) {
            plan = new Plan(this, pool, converters);
        }
        boolean made = false;
        try {
            plan.make(tensors, toWorker);
            made = true;
        } finally {
            if (!made) {
                plan.abandoned();
            }
        }
        return plan;
    }

    void done(Plan plan) {
        plans.offer(plan); // when there are enough, it is garbage
    }

    /** Takes back what receivers have released. Happens by itself before memory runs short; calling it keeps {@link #leases} true. */
    public void reclaim() {
        leases.pollAll();
    }

    /**
     * Ends all leases of a receiver. Only when what lies unread for it will not be read any more, or its next process would find other
     * bytes there.
     */
    public void receiverGone(int receiver) {
        leases.receiverGone(receiver);
    }

    /** Leases that receivers have not released. */
    public long leases() {
        return leases.outstanding();
    }

    /** How often a receiver claimed to have released what it had not been leased. */
    public long wrongClaims() {
        return leases.wrongClaims();
    }
}
