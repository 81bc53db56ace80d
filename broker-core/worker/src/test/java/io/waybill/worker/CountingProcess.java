package io.waybill.worker;

import io.waybill.api.Value;
import io.waybill.api.state.StatePolicy;
import io.waybill.api.state.StateStore;
import io.waybill.broker.StateSettings;
import java.nio.file.Path;
import java.time.Duration;

/** Counts in a store that is kept on disk until it is killed: prints what it found, and then each count that it has put. Argument: the home. */
final class CountingProcess {

    private CountingProcess() {}

    public static void main(String[] args) throws Exception {
        WorkerSettings settings = WorkerSettings.builder()
                .state(new StateSettings(Duration.ofMillis(1), 1 << 20))
                .build();
        try (Worker worker =
                Waybill.connect(Path.of(args[0]), "counter").settings(settings).join()) {
            StateStore store = worker.broker().state("counts", StatePolicy.KEEP.onDisk());
            long count = ((Value.Int) store.get("count").orElse(Value.of(0))).value();
            System.out.println("found " + count);
            while (true) {
                store.put("count", Value.of(++count));
                System.out.println("put " + count);
            }
        }
    }
}
