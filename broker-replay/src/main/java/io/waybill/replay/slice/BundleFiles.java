package io.waybill.replay.slice;

import io.waybill.api.WorkerInfo;
import io.waybill.home.Home;
import io.waybill.home.StoredWorker;
import io.waybill.home.WorkerRecord;
import io.waybill.host.SafeFiles;
import io.waybill.osgi.jar.BundleVersion;
import io.waybill.replay.slice.SliceInfo.Bundle;
import io.waybill.replay.slice.SliceInfo.Member;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/** Lists the bundles that workers had installed: from their records, and the jars in their directories. One thread. */
final class BundleFiles {

    private static final List<String> DIRECTORIES = List.of("bundles", "osgi/installed");
    private static final int MAX_FILES = 10_000;
    private static final String JAR = ".jar";

    private final Home home;
    private final Consumer<String> problems;

    BundleFiles(Home home, Consumer<String> problems) {
        this.home = home;
        this.problems = problems;
    }

    Member of(WorkerInfo worker) {
        Path directory = home.workerPath(worker);
        SafeFiles files = home.host().files();
        Optional<WorkerRecord> said = new StoredWorker(worker, directory, files).said();
        List<Bundle> bundles = new ArrayList<>();
        for (String name : DIRECTORIES) {
            for (Path jar : jars(directory.resolve(name))) {
                read(directory, jar).ifPresent(bundles::add);
            }
        }
        return new Member(
                worker,
                said.map(WorkerRecord::version).orElse(""),
                said.map(WorkerRecord::javaVersion).orElse(""),
                said.map(WorkerRecord::serves).orElse(List.of()),
                bundles,
                List.of(),
                Map.of());
    }

    private List<Path> jars(Path directory) {
        try {
            return home.host().files().list(directory, MAX_FILES).stream()
                    .filter(path -> path.getFileName().toString().endsWith(JAR)
                            && !path.getFileName().toString().startsWith("."))
                    .sorted()
                    .toList();
        } catch (NoSuchFileException e) {
            return List.of(); // the worker hosts no bundles
        } catch (IOException e) {
            problems.accept(String.valueOf(e.getMessage()));
            return List.of();
        }
    }

    private Optional<Bundle> read(Path directory, Path jar) {
        try {
            home.host().files().requireRegular(jar);
            BundleVersion version = BundleVersion.of(jar);
            return Optional.of(new Bundle(
                    directory.relativize(jar).toString(), version.symbolicName(), version.version(), version.sha256()));
        } catch (IOException e) {
            problems.accept(String.valueOf(e.getMessage()));
            return Optional.empty();
        }
    }
}
