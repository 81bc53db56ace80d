import io.waybill.api.*;
import io.waybill.api.handler.*;
import io.waybill.dispatch.*;
import io.waybill.home.*;
import io.waybill.host.Host;
import io.waybill.worker.*;
import java.time.Duration;
import java.util.*;

/** Leaves a sum with a node, has a third worker fetch and double it, and gives it back. Arguments: the home, the node. */
public final class References {
    public static void main(String[] args) throws Exception {
        Home home = Home.open(java.nio.file.Path.of(args[0]), Host.real());
        MessageHandler twice = (message, outbox) -> {
            RRef forked = ((Value.OfRRef) message.invocation().positional().get(0)).value();
            outbox.respond(Value.of(2 * number(forked.toHere())));
        };
        try (Worker third = join(home, "third", twice); Worker user = join(home, "user", twice)) {
            Invocation add = new Invocation("aten::add", List.of(Value.of(2), Value.of(3)), Map.of());
            try (RRef sum = user.rpc().remote(args[1], add)) {
                Invocation call = new Invocation("twice", List.of(Value.of(sum)), Map.of());
                long doubled = number(user.rpc().rpcSync(third.info().name(), call));
                System.out.println(doubled + " is twice " + number(sum.toHere()));
            }
            System.out.println(user.rpc().shutdown(Duration.ofSeconds(10)) + user.rpc().debugInfo());
        }
    }
    private static long number(Response response) {
        try (response) {
            return ((Value.Int) response.value()).value();
        }
    }
    private static Worker join(Home home, String name, MessageHandler handler) throws Exception {
        HandlerRegistry handlers = new HandlerRegistry(ParkingSettings.DEFAULT, home.host().threads(), home.host().clock());
        Provider self = new Provider("references", "1.0");
        HandlerExecutor threads = handlers.newExecutor(self, ExecutorSettings.forProcessors(1));
        handlers.add(HandlerSpec.of(HandlerKey.parse("SCRIPT_CALL"), handler, self, threads));
        return Worker.join(home, name, JoinOptions.defaults(), WorkerSettings.defaults(), handlers);
    }
}
