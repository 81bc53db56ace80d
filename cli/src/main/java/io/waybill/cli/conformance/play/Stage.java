package io.waybill.cli.conformance.play;

import io.waybill.api.Caller;
import io.waybill.api.Rpc;
import io.waybill.api.Value;
import io.waybill.cli.conformance.format.Fields;
import io.waybill.cli.conformance.format.FormatException;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.home.JoinOptions;
import io.waybill.home.Membership;
import io.waybill.home.Peer;
import io.waybill.home.PeerState;
import io.waybill.host.Clock;
import io.waybill.host.Host;
import io.waybill.journal.JournalSettings;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import io.waybill.worker.metrics.WorkerCounters;
import java.io.Closeable;
import java.io.IOException;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;

/**
 * The worker that steps are played on, and what they may do with it.
 *
 * <p><b>Threads.</b> One plays. <b>Ownership.</b> Closing it is its maker's, or a step's: whoever comes first.
 */
final class Stage {

    private static final long LOOK_NS = 2_000_000;
    private static final long RESERVE_BYTES = 1 << 20;

    private final Worker worker;
    private final Closeable leaving;
    private final Host host;
    private final Gates gates;
    private boolean left;

    /** @param leaving closes the worker, and what it hosts */
    Stage(Worker worker, Closeable leaving, Gates gates) {
        this.worker = worker;
        this.leaving = leaving;
        this.host = worker.directory().home().host();
        this.gates = gates;
    }

    Caller caller() {
        return worker;
    }

    Rpc rpc() {
        return worker.rpc();
    }

    Gates gates() {
        return gates;
    }

    Clock clock() {
        return host.clock();
    }

    void pause() {
        host.threads().pause(LOOK_NS);
    }

    /** All counters, as a dict of ints. */
    Value counters() {
        WorkerCounters counters = worker.counters();
        Map<Value, Value> all = new LinkedHashMap<>();
        all.put(Value.of("pending_calls"), Value.of((long) worker.pendingCalls()));
        all.put(Value.of("timeouts"), Value.of(counters.timeouts()));
        all.put(Value.of("late_responses"), Value.of(counters.lateResponses()));
        all.put(Value.of("requests_begun"), Value.of(counters.requestsBegun()));
        all.put(Value.of("requests_expired"), Value.of(counters.requestsExpired()));
        all.put(Value.of("requests_parked"), Value.of(counters.requestsParked()));
        worker.rpc().debugInfo().forEach((name, count) -> all.put(Value.of(name), Value.of(Long.parseLong(count))));
        return new Value.Dict(all);
    }

    /** Who is alive: ids by name, as a dict. */
    Value members() throws IOException {
        Membership membership = new Membership(worker.directory().home());
        membership.refresh();
        Map<Value, Value> ids = new TreeMap<>(Comparator.comparing(Value::toString));
        for (Peer peer : membership.members().all()) {
            if (peer.state() == PeerState.READY) {
                ids.put(Value.of(peer.name()), Value.of((long) peer.id()));
            }
        }
        return new Value.Dict(ids);
    }

    /** Joins the home under another name, as a worker of its own, and leaves at once. Gives the name. */
    Value joinAgain(Fields fields) throws FormatException, IOException {
        int id = (int) fields.whole("id", JoinOptions.ANY_ID, Integer.MIN_VALUE, Integer.MAX_VALUE);
        JoinOptions options = JoinOptions.defaults().withId(id);
        WorkerSettings settings = WorkerSettings.defaults()
                .withRole(WorkerSettings.Role.CALLS_ONLY)
                .withJournal(JournalSettings.defaults().withReserveBytes(RESERVE_BYTES));
        HandlerRegistry none = new HandlerRegistry(ParkingSettings.DEFAULT, host.threads(), host.clock());
        try (Worker other = Worker.join(worker.directory().home(), fields.text("name"), options, settings, none)) {
            return Value.of(other.info().name());
        }
    }

    void leave() throws IOException {
        if (left) {
            return;
        }
        left = true;
        leaving.close();
    }
}
