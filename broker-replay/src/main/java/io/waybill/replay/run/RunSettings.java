package io.waybill.replay.run;

import io.waybill.api.tensor.TensorBuffers;
import io.waybill.dispatch.HandlerTable;
import io.waybill.replay.compare.ResponseComparison;
import java.time.Duration;

/**
 * Settings of a run. Immutable.
 *
 * @param limit how long a handler may take, and after it a late response; zero for no limit
 * @param pace when each request is run
 * @param buffers memory for results
 * @param elsewhere handlers whose calls are left out where the candidates have none
 */
public record RunSettings(
        ResponseComparison comparison,
        Duration limit,
        ReplayPace pace,
        TensorBuffers buffers,
        HandlerTable elsewhere) {}
