package io.waybill.cli.workers;

import com.fasterxml.jackson.core.JsonGenerator;
import io.waybill.api.CallException;
import io.waybill.api.Response;
import io.waybill.api.WorkerInfo;
import io.waybill.api.admin.Admin;
import io.waybill.api.admin.ReferenceList;
import io.waybill.api.admin.ReferenceList.ReferenceInfo;
import io.waybill.cli.call.CallingWorker;
import io.waybill.cli.command.HomeOption;
import io.waybill.cli.command.Progress;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.command.UsageException;
import io.waybill.cli.show.ControlJson;
import io.waybill.cli.show.Json;
import io.waybill.cli.show.Table;
import io.waybill.home.Home;
import io.waybill.home.Membership;
import io.waybill.home.Peer;
import io.waybill.home.PeerState;
import io.waybill.home.WorkerRecord;
import io.waybill.host.Host;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code waybill rrefs}: fetches the remote references of every worker of a home, concurrently. */
@Command(
        mixinStandardHelpOptions = true,
        name = "rrefs",
        header = "Lists the remote references of every worker.",
        description = {
            "",
            "PART is owns (the worker has the value, and PEER a fork of it), holds (the worker has a fork, and PEER the value) or"
                    + " passes (the worker made the fork for PEER, which has not reported it yet).",
            ""
        },
        footer = {"", "Examples:", "  waybill rrefs", "  waybill rrefs --json"})
public final class RRefsCommand implements Callable<Integer> {

    private static final Duration LIMIT = Duration.ofSeconds(5);
    private static final int FAILED = 1;
    private static final int MAX_LIMIT = 10_000;

    private final Surroundings surroundings;

    @Mixin
    private HomeOption home;

    @Option(
            names = "--limit",
            paramLabel = "N",
            defaultValue = "1000",
            description = "Lines of each worker, at most " + MAX_LIMIT + "; ${DEFAULT-VALUE}.")
    private int limit;

    @Option(names = "--json", description = "Prints JSON.")
    private boolean json;

    public RRefsCommand(Surroundings surroundings) {
        this.surroundings = surroundings;
    }

    /** Result of one worker: its references, or the reason for a missing response. */
    private record Said(Peer worker, ReferenceList list, String problem) {}

    @Override
    public Integer call() throws IOException, UsageException {
        if (limit < 0 || limit > MAX_LIMIT) {
            throw new UsageException("--limit is 0 to " + MAX_LIMIT + ": " + limit);
        }
        Host host = Host.real();
        Home opened = home.openExisting(surroundings, host);
        Membership membership = Membership.present(opened);
        membership.refresh();
        List<Peer> peers = membership.members().all();
        List<Said> said;
        try (CallingWorker caller = CallingWorker.join(opened)) {
            said = Progress.during(
                    surroundings, host.threads(), () -> "waiting for responses", () -> ask(caller.worker(), peers));
        }
        if (json) {
            Json.print(surroundings.out(), content -> write(said, content));
        } else {
            print(said, peers.stream().collect(Collectors.toMap(Peer::id, Peer::name)));
        }
        return said.stream().allMatch(one -> one.problem().isEmpty()) ? 0 : FAILED;
    }

    private List<Said> ask(Worker caller, List<Peer> peers) {
        Admin admin = Admin.of(caller).withLimit(LIMIT);
        Map<Peer, CompletableFuture<Response>> asked = new LinkedHashMap<>();
        for (Peer peer : peers) {
            if (peer.state() == PeerState.READY && !onlyCalls(peer)) {
                asked.put(peer, admin.referencesAsync(WorkerInfo.address(peer.id()), limit));
            }
        }
        List<Said> said = new ArrayList<>();
        asked.forEach((peer, response) -> said.add(said(peer, response)));
        return said;
    }

    private static boolean onlyCalls(Peer peer) {
        return peer.record().map(WorkerRecord::onlyCalls).orElse(false);
    }

    private static Said said(Peer peer, CompletableFuture<Response> pending) {
        try (Response response = pending.join()) {
            return new Said(peer, ReferenceList.of(response), "");
        } catch (CompletionException | CallException e) {
            String problem = (e instanceof CompletionException ? e.getCause() : e).getMessage();
            return new Said(peer, new ReferenceList(List.of(), 0, Map.of()), problem);
        }
    }

    private void print(List<Said> said, Map<Integer, String> names) {
        Table table = new Table("WORKER", "PART", "RREF", "FORK", "PEER", "STATE", "HANDLES", "KEPT", "TYPE");
        int rows = 0;
        for (Said one : said) {
            for (ReferenceInfo reference : one.list().references()) {
                table.row(
                        one.worker().name(),
                        reference.part(),
                        reference.rref(),
                        reference.fork(),
                        names.getOrDefault(reference.peer(), "" + reference.peer()),
                        reference.state(),
                        reference.handles(),
                        reference.kept() ? "yes" : "no",
                        reference.type());
                rows++;
            }
        }
        if (rows > 0) {
            table.print(surroundings.out());
        } else {
            surroundings.err().println("No worker has references");
        }
        said.forEach(this::printRest);
    }

    private void printRest(Said one) {
        if (!one.problem().isEmpty()) {
            surroundings.err().println(one.worker().name() + " did not respond: " + one.problem());
        } else if (one.list().leftOut() > 0) {
            surroundings
                    .err()
                    .println(one.worker().name() + " has " + one.list().leftOut() + " more: --limit shows them");
        }
    }

    private static void write(List<Said> said, JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeArrayFieldStart("workers");
        for (Said one : said) {
            json.writeStartObject();
            json.writeNumberField("id", one.worker().id());
            json.writeStringField("name", one.worker().name());
            if (one.problem().isEmpty()) {
                json.writeFieldName("answer");
                ControlJson.write(one.list(), json);
            } else {
                json.writeStringField("problem", one.problem());
            }
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeEndObject();
    }
}
