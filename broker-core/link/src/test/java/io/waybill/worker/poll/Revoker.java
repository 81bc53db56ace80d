package io.waybill.worker.poll;

/** Takes the permit from a thread inside foreign code, as the housekeeper does when that does not return in time. */
public final class Revoker {

    private Revoker() {}

    /** Takes the permit from its holder. Returns whether the holder was inside foreign code. */
    public static boolean revoke(PollPermit permit) {
        return permit.revoke(permit.foreign()) != null;
    }
}
