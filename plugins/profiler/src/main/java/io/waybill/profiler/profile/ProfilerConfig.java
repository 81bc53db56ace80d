package io.waybill.profiler.profile;

import java.util.Objects;

/**
 * What a profile records. It goes with each profiled call to its callee.
 *
 * @param reportInputShapes whether events have the sizes of the tensors that they were given
 * @param profileMemory whether events have the bytes of the tensors that they returned
 */
public record ProfilerConfig(ProfilerState state, boolean reportInputShapes, boolean profileMemory) {

    public ProfilerConfig {
        Objects.requireNonNull(state);
    }

    /** Returns a configuration with times alone. */
    public static ProfilerConfig cpu() {
        return new ProfilerConfig(ProfilerState.CPU, false, false);
    }

    /** Returns the same one with another state. */
    public ProfilerConfig withState(ProfilerState other) {
        return new ProfilerConfig(other, reportInputShapes, profileMemory);
    }

    /** Returns the same one with shapes. */
    public ProfilerConfig withInputShapes() {
        return new ProfilerConfig(state, true, profileMemory);
    }

    /** Returns the same one with memory. */
    public ProfilerConfig withMemory() {
        return new ProfilerConfig(state, reportInputShapes, true);
    }
}
