package io.waybill.python.pool;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The processes that functions have started: those in the session that their pool process began. They keep its number
 * when it has ended, and until they have ended no other process has that number. Stateless.
 */
final class Session {

    private static final Logger LOG = System.getLogger(Session.class.getName());
    private static final Path PROC = Path.of("/proc");
    /** A process may start another one while it is ended. */
    private static final int MAX_ROUNDS = 10;

    private Session() {}

    /** Ends those of a process that has ended. */
    static void end(long leader) {
        for (int i = 0; i < MAX_ROUNDS; i++) {
            List<ProcessHandle> left = left(leader);
            if (left.isEmpty()) {
                return;
            }
            left.forEach(ProcessHandle::destroyForcibly);
        }
    }

    private static List<ProcessHandle> left(long leader) {
        List<ProcessHandle> found = new ArrayList<>();
        try (DirectoryStream<Path> all = Files.newDirectoryStream(PROC, "[0-9]*")) {
            for (Path each : all) {
                if (session(each) == leader) {
                    ProcessHandle.of(Long.parseLong(each.getFileName().toString()))
                            .filter(ProcessHandle::isAlive)
                            .ifPresent(found::add);
                }
            }
        } catch (IOException | DirectoryIteratorException e) {
            LOG.log(Level.WARNING, "What Python process {0} has started is not ended: {1}", leader, e.getMessage());
        }
        return found;
    }

    /** Returns the number of a process's session; -1 when it has ended, as a zombie has. */
    private static long session(Path process) {
        try {
            String stat = Files.readString(process.resolve("stat"), StandardCharsets.ISO_8859_1);
            String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ", 5); // state, parent, group, session
            return fields[0].equals("Z") ? -1 : Long.parseLong(fields[3]);
        } catch (IOException e) {
            return -1;
        }
    }
}
