package io.waybill.tensor.segment;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;

/** Further holder of regions apart from senders and receivers, which can release some. Thread-safe. */
public interface RegionHolder {

    /** Holder of nothing. */
    RegionHolder NONE = new RegionHolder() {
        @Override
        public void requireRoom() {}

        @Override
        public boolean giveWay() {
            return false;
        }
    };

    /**
     * Called before each message with tensors.
     *
     * @throws CallException {@link ErrorCode#BACK_PRESSURE} when it holds too much, and the message has to wait
     */
    void requireRoom();

    /**
     * Called when there is no memory for tensors.
     *
     * @return whether some was released
     * @throws CallException {@link ErrorCode#BACK_PRESSURE} when some will be released
     */
    boolean giveWay();
}
