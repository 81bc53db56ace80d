package io.waybill.python.pool;

import java.time.Duration;
import java.util.List;

/**
 * Settings of the pool.
 *
 * @param command that starts a process
 * @param path directories that its processes import from first
 * @param size max number of processes; 0 for no pool
 * @param startLimit how long a process may take to connect
 * @param killAfter max time that a call may continue after its deadline
 * @param byValue whether calls may contain code
 * @param script a program whose functions and operations its processes serve, too; empty for none
 * @param reload whether processes are replaced when a module below the path has changed
 */
public record PoolSettings(
        List<String> command,
        List<String> path,
        int size,
        Duration startLimit,
        Duration killAfter,
        boolean byValue,
        String script,
        boolean reload) {
    public PoolSettings {
        command = List.copyOf(command);
        path = List.copyOf(path);
    }

    /** Returns whether processes that were started with these settings run as others say, too. */
    boolean startsAs(PoolSettings other) {
        return command.equals(other.command)
                && path.equals(other.path)
                && byValue == other.byValue
                && reload == other.reload;
    }
}
