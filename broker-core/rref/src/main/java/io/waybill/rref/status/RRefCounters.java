package io.waybill.rref.status;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Counts of references at one moment.
 *
 * @param ownerRRefs values that this worker owns and that other workers may reach
 * @param forks forks of them that are known
 * @param pendingUsers references that their owner has not confirmed
 * @param pendingFutures control messages without an acknowledgement
 * @param confirmedUsers references that their owner has confirmed
 * @param pendingChildren forks made here whose receivers have not reported
 * @param ignored duplicate or late messages, which had no effect
 */
public record RRefCounters(
        int ownerRRefs,
        int forks,
        int pendingUsers,
        int pendingFutures,
        int confirmedUsers,
        int pendingChildren,
        long ignored) {

    /** Returns PyTorch's four counters, under PyTorch's names. */
    public Map<String, String> debugInfo() {
        Map<String, String> info = new LinkedHashMap<>();
        info.put("num_owner_rrefs", String.valueOf(ownerRRefs));
        info.put("num_forks", String.valueOf(forks));
        info.put("num_pending_users", String.valueOf(pendingUsers));
        info.put("num_pending_futures", String.valueOf(pendingFutures));
        return info;
    }

    /** Returns whether nothing is left. */
    public boolean isClean() {
        return ownerRRefs == 0
                && forks == 0
                && pendingUsers == 0
                && pendingFutures == 0
                && confirmedUsers == 0
                && pendingChildren == 0;
    }
}
