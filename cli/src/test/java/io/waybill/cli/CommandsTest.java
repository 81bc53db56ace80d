package io.waybill.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.archive.ArchivePolicy;
import io.waybill.archive.ArchiveSettings;
import io.waybill.cli.command.Surroundings;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.host.Host;
import io.waybill.injection.InjectionSettings;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(value = 60, unit = TimeUnit.SECONDS)
class CommandsTest {

    @TempDir
    Path directory;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int run(String... args) {
        Surroundings surroundings = new Surroundings(
                new PrintWriter(out),
                new PrintWriter(err),
                Surroundings.Watcher.PROGRAM,
                directory.resolve("home"),
                Optional.empty(),
                directory,
                "17",
                Map.of());
        return Commands.run(surroundings, args);
    }

    private void assertOneLine(String beginsWith) {
        assertThat(err.toString()).startsWith(beginsWith).endsWith("\n").hasLineCount(1);
        assertThat(out.toString()).isEmpty();
    }

    @Test
    void saysItsVersion() {
        assertThat(run("--version")).isZero();
        assertThat(out.toString()).matches("waybill [0-9.]+\n");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"node", "up", "call", "workers", "bundle", "replay", "doctor", "completion", "prepare", "help"})
    void everyCommandHasHelpWithAnExample(String command) {
        assertThat(run(command, "--help")).isZero();
        assertThat(out.toString())
                .contains("Usage: waybill " + command)
                .contains("Example")
                .contains("  waybill ");
    }

    @ParameterizedTest
    @ValueSource(strings = {"list", "install", "update", "start", "stop", "uninstall"})
    void everyBundleCommandHasHelpWithAnExample(String command) {
        assertThat(run("bundle", command, "--help")).isZero();
        assertThat(out.toString()).contains("Usage: waybill bundle " + command).contains("Example");
    }

    @Test
    void showsWhatThereIsWhenNothingIsAskedFor() {
        assertThat(run()).isEqualTo(2);
        assertThat(err.toString()).contains("call").contains("workers").contains("node");
    }

    @Test
    void suggestsTheCommandThatWasMeant() {
        assertThat(run("worker")).isEqualTo(2);
        assertOneLine("waybill: ");
        assertThat(err.toString()).contains("workers").contains("waybill --help");
    }

    @Test
    void showsWhichWorkerInjectsFaults() throws IOException {
        Host host = Host.real();
        WorkerSettings settings = WorkerSettings.builder()
                .injection(
                        InjectionSettings.NONE.withFail(MessageType.SCRIPT_CALL).withTimes(3))
                .build();
        HandlerRegistry none = new HandlerRegistry(ParkingSettings.DEFAULT, host.threads(), host.clock());
        Home home = Home.open(directory.resolve("home"), host);
        try (Worker worker = Worker.join(home, "faulty", JoinOptions.defaults(), settings, none)) {
            worker.ready(Map.of());

            assertThat(run("workers")).isZero();
            assertThat(out.toString()).contains("faulty").contains("(injects: fail SCRIPT_CALL 3 times)");
            assertThat(run("workers", "--json")).isZero();
            assertThat(out.toString()).contains("\"injects\" : \"fail SCRIPT_CALL 3 times\"");
        }
    }

    @Test
    void showsWhatAnArchiveDidNotKeep() throws IOException {
        Host host = Host.real();
        WorkerSettings settings = WorkerSettings.builder()
                .archive(ArchiveSettings.DEFAULTS.withPolicy(ArchivePolicy.ALL).withTotalBytes(1 << 20))
                .build();
        HandlerRegistry none = new HandlerRegistry(ParkingSettings.DEFAULT, host.threads(), host.clock());
        Home home = Home.open(directory.resolve("home"), host);
        try (Worker worker = Worker.join(home, "recorder", JoinOptions.defaults(), settings, none)) {
            worker.ready(Map.of());
            Storage storage = worker.buffers().allocate(2 << 20);
            Tensor tensor = Tensor.contiguous(DType.UINT8, new long[] {2 << 20}, storage);
            worker.callAsync(
                    Request.raw("recorder", MessageType.userRequest(0x42), ByteBuffer.allocate(1), List.of(tensor)));
            storage.release();
        }

        assertThat(run("workers", "--all")).isZero();
        assertThat(out.toString()).contains("recorder").contains("(archive: 1 tensors not kept)");
        assertThat(run("workers", "--json")).isZero();
        assertThat(out.toString()).contains("\"policy\" : \"all\"").contains("\"quota\" : 1");
    }

    @Test
    void refusesAnUnknownOption() {
        assertThat(run("workers", "--jason")).isEqualTo(2);
        assertOneLine("waybill workers: Unknown option: '--jason'");
    }

    @Test
    void refusesACallWithoutAWorker() {
        assertThat(run("call", "aten::add", "1", "2")).isEqualTo(2);
        assertOneLine("waybill call: Missing required option: '--to=WORKER'");
    }

    @Test
    void refusesArgumentsThatAreNoValues() {
        assertThat(run("call", "--to", "ps0", "aten::add", "[1", "2")).isEqualTo(2);
        assertOneLine("waybill call: argument '[1': expected ',' or ']'");
    }

    @Test
    void refusesAFileThatIsNotThere() {
        assertThat(run("call", "--to", "ps0", "aten::add", "none.npy", "2")).isEqualTo(2);
        assertOneLine("waybill call: argument 'none.npy': no file ");
    }

    @Test
    void takesANegativeNumberForAnArgument() {
        assertThat(run("call", "--to", "ps0", "aten::add", "-1", "-2.5")).isEqualTo(1);
        assertOneLine("waybill call: no home at ");
    }

    @Test
    void refusesATimeWithoutAUnit() {
        assertThat(run("call", "--to", "ps0", "--timeout", "5", "aten::add")).isEqualTo(2);
        assertOneLine("waybill call: Invalid value for option '--timeout': a time is a number with");
    }

    @Test
    void refusesMoreReferencesThanANodeLists() {
        assertThat(run("rrefs", "--limit", "10001")).isEqualTo(2);
        assertOneLine("waybill rrefs: --limit is 0 to 10000: 10001");
    }

    @Test
    void refusesATypeThatIsNoRequest() {
        assertThat(run("call", "--to", "ps0", "--type", "0x242")).isEqualTo(2);
        assertOneLine("waybill call: no request type '0x242'");
    }

    @Test
    void saysThatThereIsNoHome() {
        assertThat(run("workers")).isEqualTo(1);
        assertOneLine("waybill workers: no home at " + directory.resolve("home") + ": start a node");
    }

    @Test
    void saysThatANodeNeedsADistribution() {
        assertThat(run("node", "--name", "n")).isEqualTo(1);
        assertOneLine("waybill node: this needs the distribution's bundles");
    }

    @Test
    void saysThatUpNeedsADistribution() {
        assertThat(run("up")).isEqualTo(1);
        assertOneLine("waybill up: this needs the distribution's bundles");
    }

    @Test
    void refusesANameThatIsNone() {
        assertThat(run("node", "--name", "a b")).isEqualTo(2);
        assertOneLine("waybill node: Worker name must match");
    }

    @Test
    void refusesBundleWithoutSubcommand() {
        assertThat(run("bundle")).isEqualTo(2);
        assertOneLine("waybill bundle: Missing subcommand");
    }

    @Test
    void saysThatABundleFileIsNotThere() {
        assertThat(run("bundle", "install", "--node", "n", "none.jar")).isEqualTo(1);
        assertOneLine("waybill bundle install: no file ");
    }

    @Test
    void printsACompletionScript() {
        assertThat(run("completion")).isZero();
        assertThat(out.toString()).contains("complete -F _complete_waybill").contains("uninstall");
    }
}
