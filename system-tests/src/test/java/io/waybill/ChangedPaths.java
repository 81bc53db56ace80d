package io.waybill;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** What git knows to have changed since a file was last committed. Immutable. */
final class ChangedPaths {

    private final Set<String> paths = new HashSet<>();

    private ChangedPaths() {}

    /** Asks git; without git, or outside of a clone, nothing counts as changed. */
    static ChangedPaths since(Path root, String file) throws IOException, InterruptedException {
        ChangedPaths changed = new ChangedPaths();
        List<String> commits = git(root, "log", "-1", "--format=%H", "--", file);
        String commit = commits.isEmpty() ? "HEAD" : commits.get(0);
        changed.paths.addAll(git(root, "diff", "--name-only", commit));
        changed.paths.addAll(git(root, "ls-files", "--others", "--exclude-standard"));
        return changed;
    }

    /** Returns whether a file, or one directly in a directory, has changed. */
    boolean contains(String path) {
        return paths.contains(path) || paths.stream().anyMatch(each -> path.equals(parent(each)));
    }

    private static String parent(String path) {
        return path.substring(0, Math.max(0, path.lastIndexOf('/')));
    }

    private static List<String> git(Path root, String... arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of("git", "-C", root.toString()));
        command.addAll(List.of(arguments));
        Process process;
        try {
            process = new ProcessBuilder(command)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
        } catch (IOException e) { // there is no git
            return List.of();
        }
        try (InputStream output = process.getInputStream()) {
            List<String> lines = new String(output.readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .toList();
            return process.waitFor() == 0 ? lines : List.of();
        }
    }
}
