package io.waybill.system;

import io.waybill.api.state.StateStore;
import io.waybill.worker.Worker;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** A process that keeps a store on disk, and changes it when it is told to. {@link KeptStateSystemTest} is the other end. */
final class KeepingMain {

    private KeepingMain() {}

    /** @param arguments home */
    public static void main(String[] arguments) throws IOException {
        Worker worker = KeptStateSystemTest.join(Path.of(arguments[0]));
        StateStore store = KeptStateSystemTest.store(worker);
        WorkerMain.say("ready " + round(store));
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            if (line.equals("leave")) {
                leave(worker);
                return;
            }
            KeptStateSystemTest.put(store, Integer.parseInt(line));
            WorkerMain.say("round " + round(store));
        }
        System.exit(3); // the test is gone
    }

    private static int round(StateStore store) {
        return store.get("key0").map(KeptStateSystemTest::roundOf).orElse(0);
    }

    private static void leave(Worker worker) {
        try {
            worker.close();
            WorkerMain.say("left");
        } catch (IOException e) { // on a full disk
            WorkerMain.say("left with " + e.getMessage());
        }
    }
}
