package io.waybill.cli.conformance;

import io.waybill.cli.conformance.CaseResult.Verdict;
import io.waybill.cli.conformance.format.Case;
import io.waybill.cli.conformance.format.CaseFile;
import io.waybill.host.Clock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * Runs files of cases. The workers of a file are started once, in a home of their own; those of a case for that case.
 *
 * <p>A worker that ends when it should not, or says nothing in time, fails the case that it did so in; the file's workers are then
 * started anew for the next one.
 *
 * <p><b>Threads.</b> One.
 */
public final class ConformanceRun {

    private final Troupe troupe;
    private final Clock clock;
    private final Predicate<String> chosen;
    private final List<CaseResult> results = new ArrayList<>();

    /**
     * @param troupe whose home and logs are directories that each file gets one below of
     * @param chosen whether to run a case of this name
     */
    public ConformanceRun(Troupe troupe, Clock clock, Predicate<String> chosen) {
        this.troupe = troupe;
        this.clock = clock;
        this.chosen = chosen;
    }

    /**
     * Runs a file.
     *
     * @param each is told every result as it comes
     */
    public void run(CaseFile file, Consumer<CaseResult> each) throws IOException {
        try (SharedCast shared = new SharedCast(file)) {
            for (Case one : file.cases()) {
                if (chosen.test(one.name())) {
                    long sinceNs = clock.monotonicNs();
                    Optional<String> wrong = one.skip().isPresent() ? one.skip() : play(one, shared);
                    Verdict verdict = one.skip().isPresent()
                            ? Verdict.SKIPPED
                            : wrong.isPresent() ? Verdict.FAILED : Verdict.PASSED;
                    CaseResult result = new CaseResult(
                            file.path(), one.name(), verdict, wrong.orElse(""), clock.monotonicNs() - sinceNs);
                    results.add(result);
                    each.accept(result);
                }
            }
        }
    }

    /** The workers of a file, once a case needs them. */
    private final class SharedCast implements AutoCloseable {

        private final CaseFile file;
        private Cast cast;

        SharedCast(CaseFile file) {
            this.file = file;
        }

        Cast get() throws IOException, WorkerFailedException {
            if (cast == null) {
                cast = Cast.start(place(file), file.workers(), scripts(file));
            }
            return cast;
        }

        @Override
        public void close() {
            if (cast != null) {
                cast.close();
                cast = null;
            }
        }
    }

    private Optional<String> play(Case one, SharedCast shared) throws IOException {
        try {
            Optional<String> wrong = play(one, shared.get(), shared.file);
            if (one.endsWorkers()) {
                shared.close();
            }
            return wrong;
        } catch (WorkerFailedException | IllegalStateException e) {
            shared.close();
            return Optional.of(e.getMessage());
        }
    }

    private Optional<String> play(Case one, Cast shared, CaseFile file) throws IOException, WorkerFailedException {
        if (one.workers().isEmpty()) {
            return new CasePlay(one, List.of(shared)).play();
        }
        try (Cast own = Cast.start(place(file), one.workers(), scripts(file))) {
            return new CasePlay(one, List.of(own, shared)).play();
        }
    }

    /** A directory with the scripts of a file, that nobody else can write. */
    private Path scripts(CaseFile file) throws IOException {
        Path directory = place(file).logs().resolve("scripts");
        if (!Files.exists(directory)) {
            Files.createDirectory(
                    directory, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
            for (Map.Entry<String, String> script : file.scripts().entrySet()) {
                Path path = directory.resolve(script.getKey());
                if (CaseFile.isModule(script.getKey())) {
                    String name = script.getKey().substring(0, script.getKey().lastIndexOf('.'));
                    Files.write(path, ModuleFile.of(name, script.getValue()));
                } else {
                    Files.writeString(path, script.getValue());
                }
            }
        }
        return directory;
    }

    /** A home and a directory for logs, for all workers of a file. */
    private Troupe place(CaseFile file) throws IOException {
        String name = file.path().getFileName().toString();
        Path logs = troupe.logs().resolve(name);
        Files.createDirectories(logs);
        return troupe.in(troupe.home().resolve(name), logs);
    }

    /** All results so far, in order. */
    public List<CaseResult> results() {
        return List.copyOf(results);
    }

    public long count(Verdict verdict) {
        return results.stream().filter(result -> result.verdict() == verdict).count();
    }
}
