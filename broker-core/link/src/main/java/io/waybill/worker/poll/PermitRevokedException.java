package io.waybill.worker.poll;

/** Unwinds a thread that lost the {@link PollPermit} while a listener did not return; another thread polls now. */
public final class PermitRevokedException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public PermitRevokedException() {
        super("a listener did not return in time, and another thread polls since", null, false, false);
    }
}
