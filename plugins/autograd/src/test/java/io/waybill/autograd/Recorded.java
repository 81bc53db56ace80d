package io.waybill.autograd;

import io.waybill.api.WorkerInfo;
import io.waybill.api.broker.Broker;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.Provider;
import io.waybill.replay.HandlerSource;
import io.waybill.replay.Replay;
import io.waybill.replay.ReplayReport;
import io.waybill.replay.compare.Verdict;
import io.waybill.script.ScriptCall;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Replays what a worker with operators and autograd served, and says what differs. */
final class Recorded implements HandlerSource {

    private Autograd autograd; // null until the replay begins
    private final List<String> differences = new ArrayList<>();
    private ReplayReport report;

    /** Replays the requests of a worker. */
    static Recorded replayed(Path home, String worker) throws IOException {
        Recorded recorded = new Recorded();
        recorded.report = Replay.of(home)
                .worker(worker)
                .with("again", recorded)
                .run(call -> call.results().stream()
                        .filter(result -> result.verdict() != Verdict.SAME)
                        .forEach(result -> recorded.differences.add(
                                call.operation() + " " + result.verdict() + ": " + result.reason())));
        recorded.autograd.close();
        return recorded;
    }

    List<String> differences() {
        return differences;
    }

    /** How many requests of this operation or type were replayed. */
    long count(String operation) {
        return report.rows().stream()
                .filter(row -> row.operation().equals(operation))
                .mapToLong(ReplayReport.Row::count)
                .sum();
    }

    @Override
    public void use(Broker broker, WorkerInfo worker) {
        autograd = new Autograd(broker, TestWorkers.NATIVES);
    }

    @Override
    public void fill(HandlerRegistry registry, WorkerInfo worker) {
        List<MessageHandler> handlers = List.of(
                new ScriptCall(TestWorkers.ENGINE),
                new ForwardRequests(autograd),
                new PassRequests(autograd),
                new BackwardRequests(autograd),
                new OptimizerRequests(autograd));
        for (MessageHandler handler : handlers) {
            Provider provider = new Provider(handler.getClass().getSimpleName(), "1.0.0");
            for (String key :
                    handler.getClass().getAnnotation(HandlesMessage.class).value()) {
                registry.add(HandlerSpec.of(
                        HandlerKey.parse(key),
                        handler,
                        provider,
                        registry.newExecutor(provider, ExecutorSettings.forProcessors(1))));
            }
        }
    }
}
