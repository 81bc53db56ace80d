package io.waybill.host;

import java.util.Objects;

/**
 * Identity of a process, unique on the host at all times: a pid alone is reused.
 *
 * @param pid pid as seen in its own pid namespace
 * @param startTime time in clock ticks after the host's boot: field 22 of {@code /proc/<pid>/stat}, less the offset of
 * the reader's time namespace
 * @param bootId id of the boot in which it ran
 * @param pidNamespace namespace in which its pid is valid, such as {@code pid:[4026531836]}
 * @param uid effective user
 */
public record ProcessIdentity(long pid, long startTime, String bootId, String pidNamespace, int uid) {

    public ProcessIdentity {
        Objects.requireNonNull(bootId);
        Objects.requireNonNull(pidNamespace);
    }

    // written out, as hashCode is: the JVM would generate them at the first use, which is in the path of each join
    @Override
    public boolean equals(Object other) {
        return other instanceof ProcessIdentity that
                && pid == that.pid
                && startTime == that.startTime
                && uid == that.uid
                && bootId.equals(that.bootId)
                && pidNamespace.equals(that.pidNamespace);
    }

    @Override
    public int hashCode() {
        return Objects.hash(pid, startTime, bootId, pidNamespace, uid);
    }
}
