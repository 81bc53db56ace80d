import io.waybill.api.*;
import io.waybill.api.handler.MessageHandler;
import io.waybill.worker.*;
import java.nio.file.Path;
import java.time.Duration;
import java.util.*;

/** Leaves a sum with a node, has a third worker fetch and double it, and releases it. Arguments: the home, the node. */
public final class References {
    public static void main(String[] args) throws Exception {
        MessageHandler twice = (message, outbox) -> {
            RRef forked = ((Value.OfRRef) message.invocation().positional().get(0)).value();
            outbox.respond(Value.of(2 * number(forked.toHere())));
        };
        try (Worker third = Waybill.connect(Path.of(args[0]), "third").with("SCRIPT_CALL", twice).join();
                Worker user = Waybill.connect(Path.of(args[0]), "user").join()) {
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
}
