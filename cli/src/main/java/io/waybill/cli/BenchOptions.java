package io.waybill.cli;

import io.waybill.worker.poll.Waiting;
import java.util.List;
import java.util.Locale;
import picocli.CommandLine.Option;

/** Options that several measurements of {@link BenchCommand} share. */
final class BenchOptions {

    private BenchOptions() {}

    /** Of every measurement. */
    static final class Shown {
        @Option(names = "--json", description = "Prints one JSON object.")
        private boolean json;

        boolean asJson() {
            return json;
        }
    }

    /** Of those that are repeated. */
    static final class Rounds {
        @Option(names = "--rounds", defaultValue = "3", description = "Rounds, odd; ${DEFAULT-VALUE}.")
        private int rounds;

        int odd() throws UsageException {
            if (rounds < 1 || rounds % 2 == 0) {
                throw new UsageException("--rounds must be odd, so that there is a median: " + rounds);
            }
            return rounds;
        }
    }

    /** Of those that send bytes. */
    static final class Size {
        @Option(names = "--size", defaultValue = "64", description = "Bytes of the payload; ${DEFAULT-VALUE}.")
        private int bytes;

        int bytes() {
            return bytes;
        }
    }

    /** Of those that send tensors. */
    static final class Sizes {
        @Option(
                names = "--sizes",
                split = ",",
                defaultValue = "1,16,256",
                description = "MiB of the tensors; ${DEFAULT-VALUE}.")
        private List<Long> mebibytes;

        List<Long> bytes() {
            return mebibytes.stream().map(each -> each << 20).toList();
        }
    }

    /** Of those whose workers can wait in several ways. */
    static final class Waits {
        @Option(
                names = "--waiting",
                description = "How the workers that are measured wait: spin, balanced or low-cpu. By default spin, but"
                        + " balanced in operator, reference and pairs.")
        private String waiting;

        /** The name of a {@link Waiting}. */
        String orElse(Waiting otherwise) throws UsageException {
            if (waiting == null) {
                return otherwise.name();
            }
            for (Waiting each : Waiting.values()) {
                if (each.name().replace('_', '-').toLowerCase(Locale.ROOT).equals(waiting)) {
                    return each.name();
                }
            }
            throw new UsageException("--waiting must be spin, balanced or low-cpu: " + waiting);
        }
    }
}
