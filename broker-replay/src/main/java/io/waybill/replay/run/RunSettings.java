package io.waybill.replay.run;

import io.waybill.api.tensor.TensorBuffers;
import io.waybill.dispatch.HandlerTable;
import io.waybill.replay.compare.ResponseComparison;
import java.time.Duration;

/**
 * Settings of a run. Immutable.
 *
 * @param limit max time for a handler, and for a late response after it; zero for no limit
 * @param pace schedule of the requests
 * @param buffers memory for results
 * @param elsewhere handlers whose calls are omitted if the candidates have none for them
 */
public record RunSettings(
        ResponseComparison comparison,
        Duration limit,
        ReplayPace pace,
        TensorBuffers buffers,
        HandlerTable elsewhere) {}
