package io.waybill.tensor;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.tensor.segment.Leases;
import io.waybill.tensor.segment.Region;
import io.waybill.tensor.segment.SegmentPool;
import io.waybill.tensor.segment.SegmentStorage;
import java.util.List;
import java.util.Optional;
import org.agrona.concurrent.ManyToManyConcurrentArrayQueue;

/**
 * Encodes tensors in messages: decides which are inlined, leased or copied to a segment, and retains those that
 * receivers still read.
 *
 * <p><b>Threads.</b> Thread-safe. Each plan belongs to the thread that requested it, until it is committed or
 * abandoned.
 */
public final class TensorSender {

    /** Max number of plans that are kept for the next message; more may be in use at a time. */
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
     * Prepares the tensors of one message: copies into segments are complete on return, and the regions of segments
     * that the message names do not change until the receiver releases them. The tensors' bytes are read until
     * {@link Plan#write} returned, and not later.
     *
     * @param targets the receiver's devices on which the tensors arrive
     * @throws CallException before anything is written: {@link ErrorCode#TOO_LARGE} for too many tensors,
     * {@link ErrorCode#DEVICE_FULL} when there is no room, {@link ErrorCode#BACK_PRESSURE} when receivers, or the
     * archive, hold too much, and the message has to wait, {@link ErrorCode#DEVICE_UNMAPPED} when a device is not
     * mapped, {@link ErrorCode#DEVICE_UNAVAILABLE} or another of a converter's
     */
    public Plan plan(List<Tensor> tensors, int toWorker, DeviceTargets targets) {
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
            plan.make(tensors, toWorker, targets);
            made = true;
        } finally {
            if (!made) {
                plan.abandoned();
            }
        }
        return plan;
    }

    /**
     * Copies a storage of a device into this worker's host memory.
     *
     * @return the copy, with one count; empty when the storage is in host memory
     * @throws CallException {@link ErrorCode#DEVICE_UNAVAILABLE} or another of a converter's
     */
    public Optional<Storage> toHost(Storage onDevice) {
        DeviceMoves moves = new DeviceMoves(converters);
        try {
            return moves.prepare(onDevice, pool);
        } catch (RejectedMessageException e) {
            throw new CallException(ErrorKind.UNKNOWN_ERROR, e.code(), MessageId.NONE, e.getMessage(), e);
        } finally {
            moves.clear();
        }
    }

    /**
     * Copies a storage of a device into a region of this worker's segments.
     *
     * @return region with one hold
     * @throws CallException as {@link #toHost}
     */
    Region toSegment(Storage onDevice) {
        Storage copy = toHost(onDevice).orElseGet(onDevice::retain);
        try {
            if (copy instanceof SegmentStorage inSegment && inSegment.pool() == pool) {
                return inSegment.lease();
            }
            Region region = pool.take(copy.sizeBytes());
            pool.memory().copy(copy.readAddress(), region.address(), copy.sizeBytes());
            return region;
        } finally {
            copy.release();
        }
    }

    void done(Plan plan) {
        plans.offer(plan); // a plan beyond the limit is garbage
    }

    /** Reclaims device memory that receivers have released. To be called at intervals. */
    public void look() {
        if (leases.areShared()) {
            leases.pollAll();
        }
    }

    /**
     * Reclaims memory that receivers have released. Happens by itself before memory runs short; calling it keeps
     * {@link #leases} true.
     */
    public void reclaim() {
        leases.pollAll();
    }

    /**
     * Ends all leases of an ended receiver. Only when its unread records will not be read any more, or its next process
     * would find other bytes there.
     */
    public void receiverGone(int receiver) {
        leases.receiverGone(receiver);
    }

    /** Returns the number of leases that receivers have not released. */
    public long leases() {
        return leases.outstanding();
    }

    /** Returns the number of claims of receivers to have released a lease that they did not have. */
    public long wrongClaims() {
        return leases.wrongClaims();
    }
}
