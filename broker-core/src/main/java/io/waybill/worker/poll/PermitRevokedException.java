package io.waybill.worker.poll;

/** Ends the turn of a thread that lost the {@link PollPermit} while a listener did not return: another thread polls by now. */
public final class PermitRevokedException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public PermitRevokedException() {
        super("a listener did not return in time, and another thread polls since", null, false, false);
    }
}
