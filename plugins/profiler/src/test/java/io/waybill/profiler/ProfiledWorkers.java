package io.waybill.profiler;

import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.api.tensor.Tensor;
import io.waybill.home.JoinOptions;
import io.waybill.script.ScriptCall;
import io.waybill.script.ScriptEngine;
import io.waybill.torch.LibTorch;
import io.waybill.torch.NativeTensors;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;

/** Workers in this JVM that serve operators, some handlers and the profiler, named worker0, worker1 and so on. */
@SuppressWarnings("try")
final class ProfiledWorkers implements AutoCloseable {

    static final NativeTensors NATIVES =
            new NativeTensors(new LibTorch(Path.of(System.getProperty(LibTorch.NATIVES_PROPERTY)), 1));
    static final ScriptEngine ENGINE = new ScriptEngine(NATIVES);

    final List<Worker> workers = new ArrayList<>();
    final List<RemoteProfiler> profilers = new ArrayList<>();

    static ProfiledWorkers of(Path home, int count) throws IOException {
        return of(home, count, (worker, id) -> worker);
    }

    static ProfiledWorkers of(Path home, int count, BiFunction<Waybill, Integer, Waybill> more) throws IOException {
        ProfiledWorkers all = new ProfiledWorkers();
        for (int i = 0; i < count; i++) {
            RemoteProfiler[] made = new RemoteProfiler[1];
            Waybill joining = Waybill.connect(home, "worker" + i)
                    .options(JoinOptions.defaults().withId(i))
                    .with(new ScriptCall(ENGINE))
                    .with("function:test.one", (message, outbox) -> outbox.respond(Value.of(1)))
                    .with("test.scope", all.scoped(i))
                    .with("test.route", new Route())
                    .with("test.async", new AsyncRoute())
                    .with("test.bad", (message, outbox) -> {
                        outbox.rpc()
                                .rpcSync("worker0", invocation("aten::ones", Value.ints(2)))
                                .close();
                        throw new RejectedMessageException(ErrorCode.REFUSED, "planted");
                    });
            joining = more.apply(joining, i)
                    .withBroker(broker -> made[0] = new RemoteProfiler(broker))
                    .withBroker(broker -> new ProfilingRequests(made[0]));
            all.workers.add(joining.join());
            all.profilers.add(made[0]);
        }
        return all;
    }

    /** Runs an operator here, in two scopes. */
    private MessageHandler scoped(int id) {
        return (message, outbox) -> {
            try (ProfileScope forward = profilers.get(id).scope("##forward##");
                    ProfileScope add = profilers.get(id).scope("aten::add")) {
                Tensor vector = vector(2);
                outbox.respond(Value.of(vector));
            }
        };
    }

    /** Passes a call on along a route, such as {@code worker1 worker2}, whose last worker adds. */
    static final class Route implements MessageHandler {

        static Request request(String operation, String route) {
            int end = route.indexOf(' ');
            Request request = Request.operation(end < 0 ? route : route.substring(0, end), operation);
            request.body().text("route", end < 0 ? "" : route.substring(end + 1));
            return request;
        }

        @Override
        public void handle(Message message, Outbox outbox) throws RejectedMessageException {
            String route = message.text("route");
            int end = route.indexOf(' ');
            if (route.isEmpty()) {
                outbox.respond(Value.of(1));
            } else if (end < 0) {
                outbox.rpc().rpcSync(route, ones()).close();
                outbox.respond(Value.of(1));
            } else {
                outbox.caller().call(request("test.route", route)).close();
                outbox.respond(Value.of(1));
            }
        }
    }

    /** Calls an operator without waiting, and responds when its result is there. */
    static final class AsyncRoute implements MessageHandler {

        @Override
        public void handle(Message message, Outbox outbox) throws RejectedMessageException {
            LateResponse later = outbox.later();
            outbox.rpc().rpcAsync(message.text("route"), ones()).whenComplete((response, failure) -> {
                if (response != null) {
                    response.close();
                }
                later.send(Value.of(1));
            });
        }
    }

    static Invocation ones() {
        return invocation("aten::ones", Value.ints(2, 3));
    }

    static Invocation invocation(String name, Value... arguments) {
        return new Invocation(name, List.of(arguments), Map.of());
    }

    /** A vector of ones, to be released. */
    static Tensor vector(int length) throws RejectedMessageException {
        return ((Value.OfTensor) ENGINE.run(invocation("aten::ones", Value.ints(length)))).value();
    }

    /** Calls and drops the result. */
    void rpcSync(int from, String to, Invocation call) {
        try (Response response = workers.get(from).rpc().rpcSync(to, call)) {
            response.type();
        }
    }

    @Override
    public void close() throws IOException {
        for (Worker worker : workers) {
            worker.close();
        }
    }
}
