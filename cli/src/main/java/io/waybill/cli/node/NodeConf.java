package io.waybill.cli.node;

import io.waybill.osgi.SettingsFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * The directory that an operator edits: {@code waybill.properties}, {@code framework.properties} and a
 * {@code <PID>.cfg} per component. Immutable.
 *
 * @param directory path of the directory
 * @param settings of the node
 * @param framework properties for the OSGi framework
 */
public record NodeConf(Path directory, NodeSettings settings, Map<String, String> framework) {

    public NodeConf {
        framework = Map.copyOf(framework);
    }

    /**
     * Reads a directory. A missing file counts as empty.
     *
     * @throws IOException if a file can't be read or is invalid; all its errors are listed
     */
    public static NodeConf read(Path directory) throws IOException {
        Path own = directory.resolve("waybill.properties");
        NodeSettings settings;
        try {
            settings = NodeSettings.of(load(own));
        } catch (IllegalArgumentException e) {
            throw new IOException(own + ": " + e.getMessage(), e);
        }
        return new NodeConf(directory, settings, load(directory.resolve("framework.properties")));
    }

    /** Reads a directory that an operator named, which must exist: a typing error must not select the defaults. */
    public static NodeConf readNamed(Path directory) throws IOException {
        if (!Files.isDirectory(directory)) {
            throw new IOException("expected a directory of settings: " + directory);
        }
        return read(directory);
    }

    /**
     * Reads the settings in the files of a directory, with the defaults of all other settings of a node; keys from
     * {@code framework.properties} begin with the file's name.
     */
    static Map<String, String> values(Path directory) throws IOException {
        Map<String, String> values = new TreeMap<>(NodeSettings.TABLE.pairs(3));
        values.putAll(load(directory.resolve("waybill.properties")));
        load(directory.resolve("framework.properties"))
                .forEach((key, value) -> values.put("framework.properties " + key, value));
        return values;
    }

    private static Map<String, String> load(Path file) throws IOException {
        Properties properties;
        try {
            properties = SettingsFile.read(file);
        } catch (NoSuchFileException e) {
            return Map.of();
        }
        return properties.stringPropertyNames().stream()
                .collect(Collectors.toMap(
                        key -> key, key -> properties.getProperty(key).strip()));
    }
}
