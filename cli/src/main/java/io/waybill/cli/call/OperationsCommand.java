package io.waybill.cli.call;

import com.fasterxml.jackson.core.JsonGenerator;
import io.waybill.api.CallException;
import io.waybill.api.admin.Admin;
import io.waybill.api.admin.OperationInfo;
import io.waybill.api.handler.OperationDescription;
import io.waybill.cli.command.CommandFailedException;
import io.waybill.cli.command.HomeOption;
import io.waybill.cli.command.Progress;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.command.UsageException;
import io.waybill.cli.show.ControlJson;
import io.waybill.cli.show.Json;
import io.waybill.cli.show.Printable;
import io.waybill.cli.show.Table;
import io.waybill.home.Home;
import io.waybill.home.Membership;
import io.waybill.home.Peer;
import io.waybill.home.PeerState;
import io.waybill.home.WorkerRecord;
import io.waybill.host.Host;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code waybill operations}: lists what workers serve, as the authors of the handlers describe it. */
@Command(
        mixinStandardHelpOptions = true,
        name = "operations",
        header = "Lists the operations of workers, or shows the arguments and the result of one.",
        description = {
            "",
            "An operation is shown as its author describes it; those without a description have - as their summary.",
            ""
        },
        footer = {
            "",
            "Examples:",
            "  waybill operations",
            "  waybill operations text.count",
            "  waybill operations --worker ps0 --python > ps0_operations.py"
        })
public final class OperationsCommand implements Callable<Integer> {

    private static final Duration LIMIT = Duration.ofSeconds(10);
    private static final int FAILED = 1;

    private final Surroundings surroundings;

    @Mixin
    private HomeOption home;

    @Option(
            names = "--worker",
            paramLabel = "WORKER",
            description = "Name or id of the only worker that is asked; default: all of the home.")
    private String worker;

    @Option(names = "--json", description = "Prints JSON.")
    private boolean json;

    @Option(
            names = "--python",
            description = "Prints a Python module with a function for each described operation, which calls it.")
    private boolean python;

    @Parameters(index = "0", arity = "0..1", paramLabel = "OPERATION", description = "Shows all about this one.")
    private String operation;

    public OperationsCommand(Surroundings surroundings) {
        this.surroundings = surroundings;
    }

    /** Operations of one worker, or the reason for a missing response. */
    record Served(String worker, List<OperationInfo> operations, String problem) {}

    @Override
    public Integer call() throws IOException, UsageException, CommandFailedException {
        if (json && python) {
            throw new UsageException("--json and --python are two forms of the list: give one of them");
        }
        Host host = Host.real();
        Home opened = home.openExisting(surroundings, host);
        List<Served> served;
        try (CallingWorker caller = CallingWorker.join(opened)) {
            List<String> workers = worker == null ? present(opened) : List.of(worker);
            Admin admin = Admin.of(caller.worker()).withLimit(LIMIT);
            served = Progress.during(
                    surroundings, host.threads(), () -> "waiting for responses", () -> served(admin, workers));
        }
        print(served);
        served.stream()
                .filter(each -> !each.problem().isEmpty())
                .map(each -> each.worker() + " did not respond: " + each.problem())
                .forEach(line -> surroundings.err().println(Printable.oneLine(line)));
        return served.stream().allMatch(each -> each.problem().isEmpty()) ? 0 : FAILED;
    }

    private static List<String> present(Home home) throws IOException {
        try (Membership membership = Membership.present(home)) {
            membership.refresh();
            return membership.members().all().stream()
                    .filter(peer -> peer.state() == PeerState.READY)
                    .filter(peer -> !peer.record().map(WorkerRecord::onlyCalls).orElse(true))
                    .map(Peer::name)
                    .toList();
        }
    }

    private List<Served> served(Admin admin, List<String> workers) {
        List<Served> served = new ArrayList<>();
        for (String name : workers) {
            try {
                List<OperationInfo> operations = operation == null
                        ? admin.operations(name)
                        : admin.operation(name, operation).map(List::of).orElse(List.of());
                served.add(new Served(name, operations, ""));
            } catch (CallException e) {
                served.add(new Served(name, List.of(), e.getMessage()));
            }
        }
        return served;
    }

    private void print(List<Served> served) throws IOException, CommandFailedException {
        boolean isEmpty = served.stream().allMatch(each -> each.operations().isEmpty());
        boolean isComplete = served.stream().allMatch(each -> each.problem().isEmpty());
        if (operation != null && isEmpty && isComplete) {
            throw new CommandFailedException((worker == null ? "no worker serves " : worker + " does not serve ")
                    + operation + "; see what is served: waybill operations");
        }
        if (json) {
            Json.print(surroundings.out(), content -> write(served, content));
        } else if (python) {
            surroundings.out().print(new PythonFunctions(served).module());
        } else if (operation != null) {
            served.forEach(each ->
                    each.operations().forEach(found -> OperationText.print(surroundings.out(), each.worker(), found)));
        } else if (!isEmpty) {
            table(served).print(surroundings.out());
        } else if (isComplete) {
            surroundings.err().println("No worker serves an operation");
        }
    }

    private static Table table(List<Served> served) {
        Table table = new Table("OPERATION", "WORKER", "SUMMARY");
        for (Served each : served) {
            for (OperationInfo operation : each.operations()) {
                String summary = operation
                        .description()
                        .map(OperationDescription::summary)
                        .orElse("-");
                table.row(operation.name(), each.worker(), summary);
            }
        }
        return table;
    }

    private static void write(List<Served> served, JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeArrayFieldStart("workers");
        for (Served each : served) {
            json.writeStartObject();
            json.writeStringField("name", each.worker());
            if (each.problem().isEmpty()) {
                json.writeFieldName("operations");
                ControlJson.write(each.operations(), json);
            } else {
                json.writeStringField("problem", each.problem());
            }
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeEndObject();
    }
}
