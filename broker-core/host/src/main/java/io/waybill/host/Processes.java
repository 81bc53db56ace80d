package io.waybill.host;

import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Processes of this host.
 *
 * <p><b>Threads.</b> Thread-safe.
 */
public interface Processes {

    /** Returns the identity of this process. */
    ProcessIdentity self();

    /** Returns the liveness of a process; costs about one small read. */
    Liveness liveness(ProcessIdentity process);

    /** Opens a watch, for callers that check one process often. */
    default ProcessWatch watch(ProcessIdentity process) {
        return new ProcessWatch() {
            @Override
            public Liveness liveness() {
                return Processes.this.liveness(process);
            }

            @Override
            public void close() {
                // holds nothing
            }
        };
    }

    /** Returns the time for which this JVM has collected garbage since it began, in ms; 0 where that is not known. */
    default long collectedMs() {
        return 0;
    }

    /**
     * Returns figures of this JVM by name: memory in bytes, threads, and garbage collections with their time in ms;
     * empty where there are none.
     */
    default Map<String, Long> jvmFigures() {
        return Map.of();
    }

    /**
     * Returns the options of JVMs that share the processors with many of their kind, more than two for each processor;
     * none when there are enough processors. With an ahead-of-time cache, which has profiles, they use the second
     * compiler late, and it inlines less; without one, the first compiler only. The compilers of cold processes would
     * otherwise take most of the processors. Options that this JVM lacks, as a later one may, are left out: no JVM
     * would start with them.
     *
     * @param count number of these processes
     * @param arguments arguments of this JVM, which are theirs, too
     */
    static List<String> crowdOptions(int count, int processors, List<String> arguments) {
        if (count <= 2 * processors) {
            return List.of();
        }
        return arguments.stream().anyMatch(argument -> argument.startsWith("-XX:AOTCache="))
                ? lateSecondCompiler().filter(HostProcesses::hasOption).toList()
                : List.of("-XX:TieredStopAtLevel=1");
    }

    private static Stream<String> lateSecondCompiler() {
        return Stream.of(
                // frequency of the checks of a method's counters: an eighth of the default
                "-XX:Tier2InvokeNotifyFreqLog=14",
                "-XX:Tier2BackedgeNotifyFreqLog=18",
                "-XX:Tier23InlineeNotifyFreqLog=24",
                // a third of the compiler's time, and as many calls
                "-XX:InlineSmallCode=1000",
                "-XX:FreqInlineSize=100",
                "-XX:MaxInlineLevel=9");
    }
}
