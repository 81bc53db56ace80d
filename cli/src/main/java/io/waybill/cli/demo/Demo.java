package io.waybill.cli.demo;

import io.waybill.api.Caller;
import io.waybill.api.Invocation;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.host.Threads;
import io.waybill.tensor.HostMemory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * Demonstration of the main use on real input: two nodes respond to calls with libtorch's operators, and a bundle is
 * installed, updated and removed during calls. Ends with a {@link DemoFailedException} if any step fails.
 *
 * <p>For one use, on one thread.
 */
public final class Demo {

    private static final String TEXT = "to be or not to be";
    private static final int WORDS = 6;
    private static final String COUNT = "text.count";
    private static final String BUNDLE = "org.acme.word-count";
    private static final String NEXT_VERSION = "1.1.0";
    private static final long CALLS_BESIDE = 2_000;
    private static final double TOLERANCE = 1e-4;

    private static final Path PYTHON = Path.of("/usr/bin/python3");

    private final Story story;
    private final Shell shell;
    private final Path directory;
    private final Path firstVersion;

    /**
     * @param directory for the demo's files
     * @param firstVersion jar of the word-count bundle
     */
    public Demo(Story story, Shell shell, Path directory, Path firstVersion) {
        this.story = story;
        this.shell = shell;
        this.directory = directory;
        this.firstVersion = firstVersion;
    }

    /** Waits for the started nodes. */
    public void startNodes(List<DemoNode> nodes) throws IOException, DemoFailedException {
        story.step(
                "Two worker processes join a home, which is a directory that they share. Each is a node: it runs an OSGi framework"
                        + " whose bundles respond to calls.");
        for (DemoNode node : nodes) {
            story.command("node", "--name", node.name());
            story.explain("%s (pid %d)", node.awaitReady(), node.pid());
        }
        run("workers");
    }

    /** Multiplies two matrices in real files. */
    public void multiply(HostMemory memory) throws IOException, DemoFailedException {
        story.step(
                "A call runs an operator of libtorch on ps0. The tensors travel through memory-mapped files that both processes"
                        + " share; request and response are in the journals of caller and callee before either uses them.");
        Path left = directory.resolve("a.npy");
        Path right = directory.resolve("b.npy");
        Path product = directory.resolve("c.npy");
        Matrices matrices = new Matrices(memory);
        matrices.write(left, right);
        run("call", "--to", "ps0", "aten::mm", left.toString(), right.toString(), "--out", product.toString());
        double difference = matrices.largestDifference(product);
        if (difference > TOLERANCE) {
            throw new DemoFailedException("the product differs by up to " + difference + " from what Java computes");
        }
        story.explain(
                "%d by %d times %d by %d, checked in plain Java: largest difference %.1e",
                Matrices.ROWS, Matrices.INNER, Matrices.INNER, Matrices.COLUMNS, difference);
        story.step(
                "Any operator goes by its name; the node picks the overload that fits the arguments. ps1 responds as well.");
        run("call", "--to", "ps1", "aten::sum", product.toString(), "[1]", "dtype:=float64");
    }

    /** Installs a bundle while calls run, upgrades it under calls to itself, and removes it. */
    public void swap(Caller caller, Threads threads) throws IOException, DemoFailedException {
        story.step(
                "A bundle is installed into ps0 while calls to it go on. It has a handler for an operation of its own, text.count.");
        DemoTraffic operators = DemoTraffic.start(
                threads, caller, Demo::ones, response -> response.tensors().size() == 1);
        operators.awaitMore(CALLS_BESIDE);
        run("bundle", "install", "--node", "ps0", firstVersion.toString());
        operators.awaitMore(CALLS_BESIDE);
        explain("meanwhile", operators.end());
        run("call", "--to", "ps0", COUNT, "text=" + TEXT);

        story.step(
                "It is upgraded while it serves. Requests that arrive when one version has left and the other is not yet there wait"
                        + " in the journal.");
        Path next = directory.resolve("word-count-" + NEXT_VERSION + ".jar");
        OtherVersion.write(firstVersion, NEXT_VERSION, next);
        DemoTraffic counting =
                DemoTraffic.start(threads, caller, Demo::count, response -> response.int64("words") == WORDS);
        counting.awaitMore(CALLS_BESIDE);
        run("bundle", "update", "--node", "ps0", next.toString());
        counting.awaitMore(CALLS_BESIDE);
        explain("meanwhile", counting.end());
        run("bundle", "list", "--node", "ps0");
    }

    /** Calls a Python function, if there is an interpreter. */
    public void callPython() throws DemoFailedException {
        if (!Files.isExecutable(PYTHON)) {
            return;
        }
        story.step(
                "A function of a Python module runs in a process of its own, which ps1 starts. A crash costs its call, and nothing else.");
        run("call", "--to", "ps1", "statistics:mean", "[3,1,4,1,5]");
    }

    /** Finds a message by its id in the journals. */
    public void lookUp(Caller caller) throws DemoFailedException {
        story.step("Every request and response stays in the journal of its sender, and is found by its id.");
        String id;
        try (Response response = caller.call(count())) {
            id = MessageId.text(response.id());
        }
        run("journal", "show", id);
    }

    /** Replays recorded calls. */
    public void replay() throws DemoFailedException {
        story.step(
                "What is on record can be run again, without effect on any worker: on the handlers as they are, or on a new version before it"
                        + " is installed. The report says where responses differ; here none does.");
        run("replay", "--to", "ps0", "--operation", COUNT, "--bundle", firstVersion.toString());
    }

    /** Removes the bundle, after which calls to it fail with an error that states this. */
    public void remove() throws DemoFailedException {
        story.step(
                "It is removed. A call now waits for a handler to come, as long as its timeout allows, and then fails with an error"
                        + " that says why.");
        run("bundle", "uninstall", "--node", "ps0", BUNDLE);
        String[] call = {"call", "--to", "ps0", COUNT, "text=" + TEXT, "--timeout", "500ms"};
        story.command(call);
        if (shell.run(call) != 1) {
            throw new DemoFailedException("a call to a bundle that was removed did not fail");
        }
    }

    /** Stops the nodes as an operator would. */
    public void stopNodes(List<DemoNode> nodes) throws DemoFailedException {
        story.step("SIGTERM lets a node end what it has begun, and leave.");
        for (DemoNode node : nodes) {
            int code = node.stop();
            story.explain("%s ended with exit code %d", node.name(), code);
            if (code != 0) {
                throw new DemoFailedException("node " + node.name() + " ended with exit code " + code);
            }
        }
    }

    private static Request ones() {
        Invocation ones = new Invocation("aten::ones", List.of(Value.ints(2, 2)), Map.of());
        return Request.invocation("ps0", MessageType.SCRIPT_CALL, ones);
    }

    private static Request count() {
        Request request = Request.operation("ps0", COUNT);
        request.body().text("text", TEXT);
        return request;
    }

    private void explain(String when, DemoTraffic.Outcome outcome) throws DemoFailedException {
        story.explain(
                "%s: %,d calls, %d failed, %d lost, %d with a wrong response; longest pause %.0f ms",
                when, outcome.calls(), outcome.failed(), outcome.lost(), outcome.wrong(), outcome.maxGapMs());
        requireAllResponded(outcome);
    }

    private static void requireAllResponded(DemoTraffic.Outcome outcome) throws DemoFailedException {
        if (outcome.failed() + outcome.lost() + outcome.wrong() > 0) {
            throw new DemoFailedException(
                    outcome.failed() + " of " + outcome.calls() + " calls failed, " + outcome.lost() + " were lost, "
                            + outcome.wrong() + " have a wrong response: " + outcome.firstFailure());
        }
    }

    private void run(String... args) throws DemoFailedException {
        story.command(args);
        int code = shell.run(args);
        if (code != 0) {
            throw new DemoFailedException("waybill " + String.join(" ", args) + " ended with " + code);
        }
    }
}
