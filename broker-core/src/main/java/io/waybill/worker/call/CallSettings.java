package io.waybill.worker.call;

import io.waybill.worker.peer.FlowLimits;
import java.time.Duration;

/**
 * Settings of the calls that a worker makes.
 *
 * @param defaultTimeout of calls that give none; {@link Duration#ZERO} for none
 * @param limits of what is in flight
 * @param maxRecordBytes of a record, without its tensors
 * @param acrossIncarnations whether a call may be completed by a later incarnation of its receiver
 */
public record CallSettings(
        Duration defaultTimeout, FlowLimits limits, int maxRecordBytes, boolean acrossIncarnations) {}
