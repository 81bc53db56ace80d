package io.waybill.autograd;

import static io.waybill.autograd.TestWorkers.tensor;

import io.waybill.api.Response;
import io.waybill.api.Value;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;

/**
 * A worker that serves relays in a JVM of its own. It takes commands as lines of its input, ends with it, and responds with lines that begin with {@code @}.
 */
final class WorkerProgram {

    private WorkerProgram() {}

    /** @param arguments home, and the id of the worker */
    public static void main(String[] arguments) throws Exception {
        int id = Integer.parseInt(arguments[1]);
        TestWorkers workers = TestWorkers.one(Path.of(arguments[0]), id, worker -> worker.with(new RelayHandler()));
        Autograd autograd = workers.autograd(0);
        say("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (line.equals("counts")) {
                say("counts " + counts(autograd));
            } else if (line.startsWith("drive ")) {
                drive(workers, line.substring(6));
            }
        }
        Runtime.getRuntime().halt(0); // without an orderly close
    }

    /** Returns what is left of passes and contexts. */
    static String counts(Autograd autograd) {
        return "contexts " + autograd.contexts().size() + " passes " + autograd.passes() + " handles "
                + TestWorkers.NATIVES.liveCount() + " storages " + TestWorkers.NATIVES.storageCount();
    }

    /** Runs passes in one context until this process is killed. */
    private static void drive(TestWorkers workers, String route) {
        Value leaf = workers.leaf(new long[] {2}, 1, 2);
        long context = workers.autograd(0).open();
        try (Response response = workers.worker(0).call(RelayHandler.request(route, leaf))) {
            Value loss = workers.local("aten::sum", response.value("tensor"));
            say("driving");
            while (true) {
                workers.autograd(0).backward(context, List.of(tensor(loss)), true);
            }
        }
    }

    private static void say(String line) {
        System.out.println("@" + line);
    }
}
