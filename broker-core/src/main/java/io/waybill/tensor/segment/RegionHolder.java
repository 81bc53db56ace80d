package io.waybill.tensor.segment;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;

/** Who holds regions beside senders and receivers, and how it gives way. Thread-safe. */
public interface RegionHolder {

    /** Holds nothing. */
    RegionHolder NONE = new RegionHolder() {
        @Override
        public void requireRoom() {}

        @Override
        public boolean giveWay() {
            return false;
        }
    };

    /**
     * Asked before each message with tensors.
     *
     * @throws CallException {@link ErrorCode#BACK_PRESSURE} when it holds so much that the message has to wait
     */
    void requireRoom();

    /**
     * Asked when there is no memory for tensors.
     *
     * @return whether some was let go
     * @throws CallException {@link ErrorCode#BACK_PRESSURE} when some will be
     */
    boolean giveWay();
}
