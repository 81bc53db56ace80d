package io.waybill.osgi.script;

import io.waybill.host.SafeFiles;
import io.waybill.osgi.jar.FileMark;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * The watched directory of scripts: a new file is served, a changed one replaces the served version, a removed one
 * withdraws its functions. A file counts after two scans found it unchanged, so a file that is still being copied
 * waits.
 *
 * <p>A file is code, and must pass the same checks as the files of a home: a regular file of the node's user, writable
 * by its owner only, in a directory with the same properties, and no symbolic link. Other files are reported, and
 * served once they pass.
 *
 * <p><b>Threads.</b> The scanning thread.
 */
public final class ScriptDirectory {

    /** Ranking above the scripts of bundles, so that the operator's file has priority. */
    private static final int RANKING = 1;

    private static final int MAX_FILES = 1_000;

    private final Path directory;
    private final SafeFiles files;
    private final ScriptStaging staging;
    private final ScriptShelf shelf;
    private final Map<Path, Seen> seen = new TreeMap<>();
    private final Set<Path> onShelf = new HashSet<>();

    private enum Standing {
        /** The file was found once in its present form. */
        NEW,
        /** The file is ready to be installed, now or once it can be opened and compared with the running script. */
        STABLE,
        /** Passed to the shelf, with any result. */
        TAKEN
    }

    /** State of a file. */
    private static final class Seen {
        FileMark mark;
        Standing standing = Standing.NEW;
    }

    public ScriptDirectory(Path directory, SafeFiles files, ScriptStaging staging, ScriptShelf shelf) {
        this.directory = directory;
        this.files = files;
        this.staging = staging;
        this.shelf = shelf;
    }

    /** Updates the scripts from the files' current state, without waiting until they are stable. */
    public void lookAtStart() {
        look();
        look();
    }

    /** Updates the scripts from the files' current state. */
    public void look() {
        Map<Path, FileMark> found = new TreeMap<>();
        try {
            for (Path file : files.list(directory, MAX_FILES)) {
                if (ScriptName.isScript(file.getFileName().toString())) {
                    FileMark.at(file).ifPresent(mark -> found.put(file, mark));
                }
            }
        } catch (IOException e) {
            shelf.refuse(directory.toString(), "", directory.toString(), describe(e));
            onShelf.add(directory);
            return;
        }
        forget(directory);
        removeGone(found);
        found.forEach(this::compare);
        seen.forEach(this::takeIfStable);
    }

    private void removeGone(Map<Path, FileMark> found) {
        List<Path> gone = new ArrayList<>(seen.keySet());
        gone.removeAll(found.keySet());
        for (Path file : gone) {
            seen.remove(file);
            forget(file);
        }
    }

    private void forget(Path location) {
        if (onShelf.remove(location)) {
            shelf.remove(location.toString());
        }
    }

    private void compare(Path file, FileMark mark) {
        Seen known = seen.computeIfAbsent(file, path -> new Seen());
        if (!mark.equals(known.mark)) {
            known.mark = mark;
            known.standing = Standing.NEW;
        } else if (known.standing == Standing.NEW) {
            known.standing = Standing.STABLE;
        }
    }

    private void takeIfStable(Path file, Seen known) {
        if (known.standing == Standing.STABLE && !shelf.mustWait(file.toString())) {
            onShelf.add(file);
            String fileName = file.getFileName().toString();
            Optional<ScriptName> name = ScriptName.parse(fileName);
            if (name.isEmpty()) {
                known.standing = Standing.TAKEN;
                shelf.refuse(file.toString(), "", file.toString(), ScriptName.problem(fileName));
            } else {
                take(file, known, name.get());
            }
        }
    }

    private void take(Path file, Seen known, ScriptName name) {
        Optional<Path> other = seen.entrySet().stream()
                .filter(entry -> entry.getValue().standing == Standing.TAKEN)
                .map(Map.Entry::getKey)
                .filter(taken -> !taken.equals(file) && isOf(taken, name.module()))
                .findFirst();
        if (other.isPresent()) {
            String problem =
                    "the functions of " + other.get().getFileName() + " are called " + name.module() + " already";
            shelf.refuse(file.toString(), name.module(), file.toString(), problem);
            return;
        }
        try (FileChannel content = files.openForReading(file, ScriptStaging.maxBytes(name))) {
            StagedScript staged = staging.stage(name, file.toString(), content);
            known.standing = Standing.TAKEN;
            shelf.put(file.toString(), staged, RANKING);
        } catch (IOException e) {
            shelf.refuse(file.toString(), name.module(), file.toString(), describe(e));
        }
    }

    private static boolean isOf(Path file, String module) {
        return ScriptName.parse(file.getFileName().toString())
                .map(ScriptName::module)
                .filter(module::equals)
                .isPresent();
    }

    private static String describe(IOException e) {
        if (e instanceof NoSuchFileException) {
            return "it isn't there";
        }
        return e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
    }
}
