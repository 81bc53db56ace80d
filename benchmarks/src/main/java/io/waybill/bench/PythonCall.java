package io.waybill.bench;

import io.waybill.bench.measure.Figures;
import io.waybill.bench.measure.Torch;
import io.waybill.bench.process.Children;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * {@code bench python}: calls between two Python processes through a node, beside PyTorch's RPC where that is
 * installed. Both take turns, each time with fresh processes; each figure is the median over the rounds.
 *
 * @param calls of an empty function in each round, after half as many to warm up
 * @param megabytes of a tensor that goes there and back; 0 for none
 * @param seconds of rest over which the processor time of a client is taken; 0 for none
 * @param rounds odd
 */
public record PythonCall(int calls, int megabytes, int seconds, int rounds, BenchDistribution distribution) {

    private static final String SCRIPT = "python_calls.py";
    private static final int TRANSFERS = 5;
    private static final List<String> SHARES =
            List.of("p50_ns", "p99_ns", "mean_ns", "element_p50_ns", "tensor_ns", "sent_ns", "buffer_ns", "idle_cores");

    /** Runs all rounds. */
    public Figures run(Consumer<String> progress) throws IOException {
        Torch torch = Torch.find();
        String python = torch == null ? "python3" : torch.python();
        List<Figures> own = new ArrayList<>();
        List<Figures> besides = new ArrayList<>();
        try (Children children = new Children()) {
            Path home = children.directory().resolve("home");
            progress.accept("a node starts");
            distribution.startNode(children, home, BenchDistribution.ALL_LEVELS);
            Map<String, String> environment = Map.of(
                    "WAYBILL_HOME",
                    home.toString(),
                    "PYTHONPATH",
                    distribution.directory().resolve("share").resolve("python").toString());
            for (int round = 1; round <= rounds; round++) {
                String of = "round " + round + " of " + rounds + ": ";
                progress.accept(of + "calls through the node");
                own.add(new Torch(python).run(SCRIPT, environment, "waybill", calls, megabytes, TRANSFERS, seconds));
                if (torch != null) {
                    progress.accept(of + "calls by PyTorch");
                    besides.add(torch.run(SCRIPT, "torch", calls, megabytes, TRANSFERS, seconds));
                }
            }
        }
        Figures figures = new Figures()
                .put("calls", calls)
                .put("megabytes", megabytes)
                .put("idle_seconds", seconds)
                .put("rounds", rounds);
        Figures.putMedians(figures, "", own);
        if (!besides.isEmpty()) {
            Figures.putMedians(figures, "torch_", besides);
            for (String name : SHARES) {
                if (figures.values().containsKey("torch_" + name)) {
                    figures.put("ratio_" + name, figures.number(name) / figures.number("torch_" + name));
                }
            }
        }
        return figures;
    }
}
