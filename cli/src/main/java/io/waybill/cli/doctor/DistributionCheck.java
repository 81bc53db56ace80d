package io.waybill.cli.doctor;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** Checks the distribution: libtorch, and the archive of classes. Reads names of files only. Stateless. */
final class DistributionCheck {

    private static final String RUNTIME = "torch-runtime-";
    private static final String LIBTORCH = "libtorch_cpu.so";
    private static final String LIBTORCH_CUDA = "libtorch_cuda.so";

    private DistributionCheck() {}

    /**
     * Adds the results.
     *
     * @param java such as {@code 17.0.15 in /usr/lib/jvm/java-17}
     * @param options options of this JVM, which show whether the launcher enabled the archive
     */
    static void run(Diagnoses findings, Optional<Path> distribution, String java, List<String> options) {
        if (distribution.isEmpty()) {
            findings.add(
                    Health.NOTE,
                    "distribution",
                    "none: the classes are run from elsewhere",
                    "run bin/waybill of a distribution to check it");
            return;
        }
        HostFiles files = new HostFiles(distribution.get());
        libtorch(findings, files);
        String version = java.split(" ", 2)[0];
        int feature = Integer.parseInt(version.split("\\D", 2)[0]);
        String archive = "lib/cds/java-" + version + (feature < 25 ? ".jsa" : ".aot");
        if (files.exists(archive) && options.stream().anyMatch(option -> option.endsWith(archive))) {
            findings.ok("class archive", archive);
        } else if (files.exists(archive)) {
            findings.add(
                    Health.NOTE,
                    "class archive",
                    archive + " of another place, build or Java: not used",
                    "waybill prepare makes it again: commands start faster with it");
        } else {
            findings.add(
                    Health.NOTE,
                    "class archive",
                    "none for this Java",
                    "waybill prepare: commands start faster with it");
        }
    }

    private static void libtorch(Diagnoses findings, HostFiles files) {
        List<String> bundles = files.names("bundles").stream()
                .flatMap(level -> files.names("bundles/" + level).stream())
                .toList();
        boolean hasRuntime = bundles.stream().anyMatch(name -> name.startsWith(RUNTIME));
        List<String> natives = Stream.concat(
                        files.names("lib/native").stream(),
                        files.names("lib/native").stream()
                                .flatMap(directory -> files.names("lib/native/" + directory).stream()))
                .toList();
        if (!hasRuntime || !natives.contains(LIBTORCH)) {
            findings.add(
                    Health.NOTE,
                    "libtorch",
                    hasRuntime
                            ? "the bundle torch-runtime, without " + LIBTORCH + " in lib/native"
                            : "no bundle torch-runtime",
                    "take the full distribution: operators, TorchScript and autograd need it; bundles of your own don't");
        } else {
            findings.ok("libtorch", natives.contains(LIBTORCH_CUDA) ? "for CUDA" : "for the CPU");
        }
    }
}
