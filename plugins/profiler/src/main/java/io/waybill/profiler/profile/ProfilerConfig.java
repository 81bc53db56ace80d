package io.waybill.profiler.profile;

import java.util.Objects;

/**
 * Options of a profile, which each profiled call carries to its callee.
 *
 * @param reportInputShapes whether events have the sizes of their argument tensors
 * @param profileMemory whether events have the bytes of their result tensors
 */
public record ProfilerConfig(ProfilerState state, boolean reportInputShapes, boolean profileMemory) {

    public ProfilerConfig {
        Objects.requireNonNull(state);
    }

    /** Returns a configuration with times only. */
    public static ProfilerConfig cpu() {
        return new ProfilerConfig(ProfilerState.CPU, false, false);
    }

    /** Returns a copy with another state. */
    public ProfilerConfig withState(ProfilerState other) {
        return new ProfilerConfig(other, reportInputShapes, profileMemory);
    }

    /** Returns a copy with shapes. */
    public ProfilerConfig withInputShapes() {
        return new ProfilerConfig(state, true, profileMemory);
    }

    /** Returns a copy with memory. */
    public ProfilerConfig withMemory() {
        return new ProfilerConfig(state, reportInputShapes, true);
    }
}
