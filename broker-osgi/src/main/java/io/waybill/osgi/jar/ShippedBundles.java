package io.waybill.osgi.jar;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.jar.JarFile;
import java.util.jar.Manifest;
import java.util.zip.ZipException;

/**
 * Selection of the distribution's bundles that a node starts. Bundles of the framework, at start levels below
 * {@value #FIRST_CHOSEN_LEVEL}, always start. Immutable.
 *
 * @param choice whether all bundles start, or only {@code names}
 * @param names symbolic names; empty if all bundles start
 */
public record ShippedBundles(Choice choice, Set<String> names) {

    /** Rule that selects the bundles to start. */
    public enum Choice {
        ALL,
        NAMED
    }

    /** Selects every bundle of the distribution. */
    public static final ShippedBundles ALL = new ShippedBundles(Choice.ALL, Set.of());

    /** First start level with a choice. */
    static final int FIRST_CHOSEN_LEVEL = 5;

    public ShippedBundles {
        names = Set.copyOf(names);
    }

    /** Selects only these symbolic names; no bundle if there are no names. */
    public static ShippedBundles named(Set<String> names) {
        return new ShippedBundles(Choice.NAMED, names);
    }

    /** A jar, and the start level, from its directory's name. */
    public record Jar(Path path, int startLevel) {}

    /**
     * Lists the jars that start, by their levels and names.
     *
     * @throws IllegalArgumentException if a named bundle is missing
     */
    public List<Jar> in(Path directory) throws IOException {
        List<Jar> jars = new ArrayList<>();
        Set<String> offered = new TreeSet<>();
        try (DirectoryStream<Path> levels = Files.newDirectoryStream(directory, Files::isDirectory)) {
            for (Path level : levels) {
                int startLevel = startLevel(level);
                for (Path jar : FileMark.list(level, ".jar").keySet()) {
                    if (starts(jar, startLevel, offered)) {
                        jars.add(new Jar(jar, startLevel));
                    }
                }
            }
        }
        requireAllIn(offered, directory);
        jars.sort(Comparator.comparingInt(Jar::startLevel)
                .thenComparing(jar -> jar.path().getFileName().toString()));
        return jars;
    }

    private boolean starts(Path jar, int startLevel, Set<String> offered) throws IOException {
        if (choice == Choice.ALL || startLevel < FIRST_CHOSEN_LEVEL) {
            return true;
        }
        String name = symbolicName(jar);
        if (!name.isEmpty()) {
            offered.add(name);
        }
        return names.contains(name);
    }

    private void requireAllIn(Set<String> offered, Path directory) {
        Set<String> missing = new TreeSet<>(names);
        missing.removeAll(offered);
        if (!missing.isEmpty()) {
            throw new IllegalArgumentException(
                    "osgi.shipped names " + missing + ", and " + directory + " has " + offered);
        }
    }

    private static int startLevel(Path level) {
        String name = level.getFileName().toString();
        if (!name.matches("[1-9][0-9]{0,2}")) {
            throw new IllegalArgumentException(
                    "a directory of bundles is named for their start level, from 1 to 999: " + level);
        }
        return Integer.parseInt(name);
    }

    /** Returns the symbolic name of a jar; empty if it is no bundle, which its installation reports. */
    private static String symbolicName(Path path) throws IOException {
        try (JarFile jar = new JarFile(path.toFile())) {
            Manifest manifest = jar.getManifest();
            String header =
                    manifest == null ? null : manifest.getMainAttributes().getValue("Bundle-SymbolicName");
            return header == null
                    ? ""
                    : ManifestHeader.parse(header).get(0).names().stream()
                            .findFirst()
                            .orElse("");
        } catch (ZipException e) {
            return "";
        }
    }
}
