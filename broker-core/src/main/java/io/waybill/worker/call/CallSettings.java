package io.waybill.worker.call;

import io.waybill.worker.peer.FlowLimits;
import java.time.Duration;

/**
 * Settings of the calls that a worker makes.
 *
 * @param defaultTimeout for calls without a timeout; {@link Duration#ZERO} for none
 * @param limits of calls and bytes in flight
 * @param maxRecordBytes of a record, without its tensors
 * @param acrossIncarnations whether a later incarnation of the receiver may complete a call
 */
public record CallSettings(
        Duration defaultTimeout, FlowLimits limits, int maxRecordBytes, boolean acrossIncarnations) {}
