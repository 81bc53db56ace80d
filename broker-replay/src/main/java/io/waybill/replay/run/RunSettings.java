package io.waybill.replay.run;

import io.waybill.api.TensorBuffers;
import io.waybill.replay.Comparison;
import io.waybill.replay.Pace;
import java.time.Duration;

/**
 * How requests are run. Immutable.
 *
 * @param limit how long a handler may take, and after it a late answer; zero for ever
 * @param pace when each request is run
 * @param buffers memory for results
 */
public record RunSettings(Comparison comparison, Duration limit, Pace pace, TensorBuffers buffers) {}
