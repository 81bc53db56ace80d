package io.waybill.worker.peer;

import io.waybill.api.WorkerInfo;

/** Parses the receiver of a call: a name or an id. */
final class WorkerAddress {

    /** Prefix of {@link WorkerInfo#address}; not allowed in names. */
    private static final String ID_ADDRESS = "#";

    private WorkerAddress() {}

    /** Returns the id, given in decimal or as {@link WorkerInfo#address} writes it; negative when a name is given. */
    static int idOf(String to) {
        String digits = to.startsWith(ID_ADDRESS) ? to.substring(ID_ADDRESS.length()) : to;
        boolean isId = !digits.isEmpty()
                && digits.length() <= 5
                && digits.chars().allMatch(digit -> digit >= '0' && digit <= '9');
        return isId ? Integer.parseInt(digits) : -1;
    }

    /** Describes the receiver for an error, cut to the length of a name. */
    static String describe(String to) {
        int id = idOf(to);
        if (id >= 0) {
            return "id " + id;
        }
        return "name "
                + (to.length() > WorkerInfo.MAX_NAME_LENGTH ? to.substring(0, WorkerInfo.MAX_NAME_LENGTH) + "…" : to);
    }
}
