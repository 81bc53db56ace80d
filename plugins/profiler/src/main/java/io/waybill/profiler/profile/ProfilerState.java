package io.waybill.profiler.profile;

/**
 * Kinds of profiles, with PyTorch's numbers. Workers treat all except {@link #CPU} and {@link #CUDA} as {@link #CPU}.
 */
public enum ProfilerState {
    /** Times of the host. */
    CPU(1),
    /** Times of the host, and the devices of tensors; {@link #CPU} in a worker without CUDA. */
    CUDA(2),
    /** PyTorch's newer profiler. */
    KINETO(6),
    /** PyTorch's newer profiler, with times of GPUs by the older one. */
    KINETO_GPU_FALLBACK(7),
    /** PyTorch's newer profiler, with times of another device by the older one. */
    KINETO_PRIVATEUSE1_FALLBACK(8);

    private final int number;

    ProfilerState(int number) {
        this.number = number;
    }

    /** Returns PyTorch's number. */
    public int number() {
        return number;
    }
}
