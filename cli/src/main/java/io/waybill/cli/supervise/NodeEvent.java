package io.waybill.cli.supervise;

import java.time.Duration;

/** Something that happened to a supervised node. Immutable. */
public sealed interface NodeEvent {

    /** Returns the node's name. */
    String node();

    /** Started: the process runs, but does not serve yet. */
    record Started(String node, long pid) implements NodeEvent {}

    /** Ready: the node serves. */
    record Ready(String node, long pid, int id) implements NodeEvent {}

    /** Died: the process ended, and is restarted after a wait. */
    record Died(String node, long pid, NodeEnd death, Duration pause) implements NodeEvent {}

    /** Given up: the process ended, and is not restarted. */
    record GivenUp(String node, long pid, NodeEnd death) implements NodeEvent {}

    /** Stopped: the process ended on request. */
    record Stopped(String node, long pid, int exitCode) implements NodeEvent {}

    /** Killed: the process did not end in time. */
    record Killed(String node, long pid, Duration limit) implements NodeEvent {}
}
