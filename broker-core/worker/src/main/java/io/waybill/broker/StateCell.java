package io.waybill.broker;

import io.waybill.api.Value;

/** Value in a store. Guarded by its owner's state. */
final class StateCell {

    final Value value;
    final long bytes;
    final long setNs;
    long usedNs;

    StateCell(Value value, long bytes, long nowNs) {
        this(value, bytes, nowNs, nowNs);
    }

    StateCell(Value value, long bytes, long setNs, long usedNs) {
        this.value = value;
        this.bytes = bytes;
        this.setNs = setNs;
        this.usedNs = usedNs;
    }
}
