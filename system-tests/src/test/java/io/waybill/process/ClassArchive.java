package io.waybill.process;

import java.io.File;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.zip.CRC32;

/**
 * An archive (CDS) of the classes that children load from jars, which halves the processor time in which one starts. The first child of a test
 * JVM lists the classes that it loads; when it has ended, the archive is made of them in the background, in {@code target}, for all test
 * JVMs of the module. Its name has a checksum of its jars, so one that does not fit is not used. Children start without one until it
 * is there, and if it can't be made.
 *
 * <p><b>Threads.</b> Any; a file lock excludes other test JVMs. <b>Ownership.</b> The list is removed when this JVM ends; the archive stays.
 */
final class ClassArchive {

    private static final String PREFIX = "children-";

    private final Path directory;
    private final List<String> jars;
    private final Path file;
    private final Path list;
    private boolean isListed; // guarded by this, and so are those below
    private boolean isBegun;
    private Process listing; // null before the first child

    /** @param directory where the archive is; there is none if this does not exist */
    ClassArchive(Path directory, String java, String classPath) {
        this.directory = directory.toAbsolutePath();
        this.jars = elements(classPath, true);
        this.file = this.directory.resolve(PREFIX + checksum(java, jars) + ".jsa");
        this.list = this.directory.resolve(PREFIX + ProcessHandle.current().pid() + ".classes");
    }

    /** Returns a class path with its directories behind its jars: an archive contains classes of the path's beginning, and of jars only. */
    static String ordered(String classPath) {
        List<String> all = elements(classPath, true);
        all.addAll(elements(classPath, false));
        return String.join(File.pathSeparator, all);
    }

    private static List<String> elements(String classPath, boolean isJar) {
        List<String> elements = new ArrayList<>();
        for (String each : classPath.split(File.pathSeparator)) {
            if (!each.isEmpty() && each.endsWith(".jar") == isJar) {
                elements.add(each);
            }
        }
        return elements;
    }

    private static String checksum(String java, Collection<String> jars) {
        StringBuilder text = new StringBuilder(java).append(Runtime.version());
        for (String each : jars) {
            File jar = new File(each);
            text.append('\n')
                    .append(each)
                    .append(' ')
                    .append(jar.length())
                    .append(' ')
                    .append(jar.lastModified());
        }
        CRC32 checksum = new CRC32();
        checksum.update(text.toString().getBytes(StandardCharsets.UTF_8));
        return Long.toHexString(checksum.getValue());
    }

    /** Returns the options with which the next child lists its classes or uses the archive; none if it does neither. */
    synchronized List<String> options(String java) {
        if (Files.exists(file)) {
            return List.of(
                    "-XX:SharedArchiveFile=" + file, "-Xshare:auto", "-Xlog:disable"); // no word if it does not fit
        }
        if (!Files.isDirectory(directory) || jars.isEmpty()) {
            return List.of();
        }
        if (!isListed) {
            isListed = true;
            list.toFile().deleteOnExit();
            return List.of("-XX:DumpLoadedClassList=" + list);
        }
        if (!isBegun && listing != null && !listing.isAlive()) {
            isBegun = true;
            Thread maker = new Thread(() -> make(java), "archive of classes");
            maker.setDaemon(true);
            maker.start();
        }
        return List.of();
    }

    /** Is given each child that was started. */
    synchronized void started(Process child) {
        if (listing == null) {
            listing = child;
        }
    }

    private void make(String java) {
        Path made = directory.resolve(PREFIX + ProcessHandle.current().pid() + ".made");
        made.toFile().deleteOnExit();
        try (FileChannel channel = FileChannel.open(
                        directory.resolve(PREFIX + "lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                FileLock lock = channel.tryLock()) {
            if (lock != null && Files.notExists(file) && run(java, made)) {
                Files.move(made, file, StandardCopyOption.ATOMIC_MOVE);
            }
        } catch (IOException e) {
            System.err.println("no archive of classes, so children start slower: " + e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private boolean run(String java, Path made) throws IOException, InterruptedException {
        dropTornLine();
        Process process = new ProcessBuilder(
                        java,
                        "-Xshare:dump",
                        "-XX:SharedClassListFile=" + list,
                        "-XX:SharedArchiveFile=" + made,
                        "-Xlog:disable",
                        "-cp",
                        String.join(File.pathSeparator, jars))
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        Runtime.getRuntime().addShutdownHook(new Thread(process::destroyForcibly, "end of the archive's process"));
        return process.waitFor() == 0;
    }

    /** Drops the end of a line that the child wrote as it was killed. */
    private void dropTornLine() throws IOException {
        byte[] bytes = Files.readAllBytes(list);
        int length = bytes.length;
        while (length > 0 && bytes[length - 1] != '\n') {
            length--;
        }
        Files.write(list, Arrays.copyOf(bytes, length));
    }
}
