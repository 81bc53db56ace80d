package io.waybill.cli.journal;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Value;
import io.waybill.cli.Commands;
import io.waybill.cli.command.Surroundings;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.Provider;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.host.Host;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Calls to a node itself, as {@code journal list} shows them. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class ControlCallsTest {

    @TempDir
    Path temporary;

    private final Host host = Host.real();
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int list(String... options) {
        Surroundings surroundings = new Surroundings(
                new PrintWriter(out),
                new PrintWriter(err),
                Surroundings.Watcher.PROGRAM,
                temporary.resolve("home"),
                Optional.empty(),
                temporary,
                "17",
                Map.of());
        String[] words = new String[options.length + 2];
        words[0] = "journal";
        words[1] = "list";
        System.arraycopy(options, 0, words, 2, options.length);
        return Commands.run(surroundings, words);
    }

    @Test
    void saysWhoInstalledWhat() throws IOException {
        HandlerRegistry registry = new HandlerRegistry(ParkingSettings.DEFAULT, host.threads(), host.clock());
        Provider provider = new Provider("test", "1.0.0");
        Value bundle = new Value.Dict(
                Map.of(Value.of("name"), Value.of("org.acme.count"), Value.of("version"), Value.of("1.2.0")));
        registry.add(HandlerSpec.of(
                HandlerKey.parse("control:bundle.install"),
                (message, outbox) -> outbox.response().value("bundle", bundle),
                provider,
                registry.newExecutor(provider, ExecutorSettings.forProcessors(2))));
        Home home = Home.open(temporary.resolve("home"), host);
        try (Worker worker = Worker.join(home, "ps0", JoinOptions.defaults(), WorkerSettings.defaults(), registry)) {
            worker.ready(Map.of());
            Invocation install = new Invocation("bundle.install", List.of(), Map.of("path", Value.of("/a.jar")));
            worker.call(Request.invocation("ps0", MessageType.CONTROL_CALL, install))
                    .close();
        }

        assertThat(list("--control")).as(err.toString()).isZero();
        assertThat(out.toString())
                .contains("control:bundle.install(path='/a.jar') -> org.acme.count 1.2.0\n")
                .hasLineCount(2);
        assertThat(list("--operation", "control:*", "--where", "path=/a.jar", "--json"))
                .isZero();
        assertThat(out.toString()).contains("\"operation\":\"control:bundle.install\"");
        assertThat(err.toString()).isEmpty();
        assertThat(list("--where", "path=/b.jar")).isZero();
        assertThat(err.toString()).isEqualTo("No call on record matches.\n");
    }
}
