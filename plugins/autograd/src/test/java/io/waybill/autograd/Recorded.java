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
import io.waybill.query.MessageFilter;
import io.waybill.replay.HandlerSource;
import io.waybill.replay.Replay;
import io.waybill.replay.ReplayReport;
import io.waybill.replay.compare.ReplayedCall;
import io.waybill.replay.compare.Verdict;
import io.waybill.script.ScriptCall;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Replays what a worker with operators and autograd served, and says what differs. */
final class Recorded implements HandlerSource {

    private Autograd autograd; // null until the replay begins
    private final List<String> differences = new ArrayList<>();
    private final Map<Long, String> results = new LinkedHashMap<>();
    private ReplayReport report;

    /** Replays the requests of a worker. */
    static Recorded replayed(Path home, String worker) throws IOException {
        return replayed(home, worker, MessageFilter.ALL);
    }

    /** Replays some of them. */
    static Recorded replayed(Path home, String worker, MessageFilter filter) throws IOException {
        Recorded recorded = new Recorded();
        recorded.report = Replay.of(home)
                .worker(worker)
                .select(filter)
                .with("again", recorded)
                .run(recorded::add);
        if (recorded.autograd != null) {
            recorded.autograd.close();
        }
        return recorded;
    }

    private void add(ReplayedCall call) {
        for (ReplayedCall.Result result : call.results()) {
            String text = call.operation() + " " + result.verdict() + ": " + result.reason();
            results.put(call.call().id(), text);
            if (result.verdict() != Verdict.SAME) {
                differences.add(text);
            }
        }
    }

    /** Returns what was found of each call, by its id, in the order of the replay. */
    Map<Long, String> results() {
        return results;
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
