package io.waybill.cli.supervise;

import java.time.Duration;

/** Something that happened to a supervised node. Immutable. */
public sealed interface NodeEvent {

    /** The node's name. */
    String node();

    /** Its process runs; it does not serve yet. */
    record Started(String node, long pid) implements NodeEvent {}

    /** It serves. */
    record Ready(String node, long pid, int id) implements NodeEvent {}

    /** Its process ended, and is started again after a wait. */
    record Died(String node, long pid, NodeEnd death, Duration pause) implements NodeEvent {}

    /** Its process ended, and is not started again. */
    record GivenUp(String node, long pid, NodeEnd death) implements NodeEvent {}

    /** It ended because it was told to. */
    record Stopped(String node, long pid, int exitCode) implements NodeEvent {}

    /** It did not end in time, and was killed. */
    record Killed(String node, long pid, Duration limit) implements NodeEvent {}
}
