package io.waybill.osgi;

import io.waybill.osgi.jar.FileMark;
import io.waybill.osgi.jar.Staging;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Dictionary;
import java.util.HashMap;
import java.util.Hashtable;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceReference;
import org.osgi.service.cm.Configuration;
import org.osgi.service.cm.ConfigurationAdmin;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Feeds the framework's configurations from a directory: {@code <PID>.cfg}, or {@code <factory PID>~<name>.cfg}, in the
 * form of {@link Properties} and UTF-8. Removal of a file deletes its configuration. A file that can't be read leaves
 * the configuration unchanged, and is reported once; it is read again when the file, the target of a link, or its
 * permissions change.
 *
 * <p><b>Threads.</b> The scanning thread; any thread may read the problems.
 */
final class ConfDirectory {

    private static final Logger LOG = LoggerFactory.getLogger(ConfDirectory.class);
    private static final String SUFFIX = ".cfg";
    /** Location of a configuration that any bundle may use. */
    private static final String ANY_LOCATION = "?";

    private final Path directory;
    private final BundleContext context;
    private final ConfigurationKeys keys;
    private final Runnable changed;
    private final Map<Path, FileMark> fed = new HashMap<>();
    private final Map<Path, String> problems = new ConcurrentSkipListMap<>(); // also read when bundles are listed

    /** @param changed callback after changes of configurations, for which bundles may wait */
    ConfDirectory(Path directory, BundleContext context, ConfigurationKeys keys, Runnable changed) throws IOException {
        this.directory = directory;
        this.context = context;
        this.keys = keys;
        this.changed = changed;
        Files.createDirectories(directory);
    }

    /** Updates the configurations from the files' current state. */
    void look() {
        try {
            Map<Path, FileMark> found = FileMark.list(directory, SUFFIX);
            problems.remove(directory);
            if (!found.equals(fed)) {
                feed(found);
            }
        } catch (IOException e) {
            String problem = directory + " can't be read: " + Staging.describe(e);
            if (!problem.equals(problems.put(directory, problem))) {
                LOG.warn("{}; its configurations stay as they are until it can be", problem);
            }
        }
    }

    /** Returns the rejected files with the reasons. Any thread may call it. */
    Map<Path, String> problems() {
        return Map.copyOf(problems);
    }

    private void feed(Map<Path, FileMark> found) {
        ServiceReference<ConfigurationAdmin> reference = context.getServiceReference(ConfigurationAdmin.class);
        ConfigurationAdmin admin = reference == null ? null : context.getService(reference);
        if (admin == null) {
            return;
        }
        try {
            for (Map.Entry<Path, FileMark> file : new TreeMap<>(found).entrySet()) {
                if (!file.getValue().equals(fed.get(file.getKey()))) {
                    fed.put(file.getKey(), file.getValue());
                    feed(admin, file.getKey());
                }
            }
            fed.keySet().removeIf(file -> !found.containsKey(file) && delete(admin, file));
            problems.keySet().removeIf(file -> !found.containsKey(file));
            changed.run();
        } finally {
            context.ungetService(reference);
        }
    }

    private void feed(ConfigurationAdmin admin, Path file) {
        try {
            configuration(admin, file).updateIfDifferent(read(file));
            problems.remove(file);
            LOG.info("Configured {} from {}", pid(file), file);
            keys.check(factoryOrPid(file));
        } catch (IOException e) {
            problems.put(file, Staging.describe(e));
            LOG.error("A configuration is not taken: {}", Staging.describe(e));
        }
    }

    private boolean delete(ConfigurationAdmin admin, Path file) {
        try {
            configuration(admin, file).delete();
            LOG.info("Removed the configuration of {}", pid(file));
            return true;
        } catch (IOException | IllegalStateException e) {
            LOG.error("The configuration of {} can't be removed: {}", pid(file), e.getMessage());
            return false;
        }
    }

    private static String factoryOrPid(Path file) {
        String pid = pid(file);
        int tilde = pid.indexOf('~');
        return tilde < 0 ? pid : pid.substring(0, tilde);
    }

    private static Configuration configuration(ConfigurationAdmin admin, Path file) throws IOException {
        String pid = pid(file);
        int tilde = pid.indexOf('~');
        return tilde < 0
                ? admin.getConfiguration(pid, ANY_LOCATION)
                : admin.getFactoryConfiguration(pid.substring(0, tilde), pid.substring(tilde + 1), ANY_LOCATION);
    }

    private static String pid(Path file) {
        String name = file.getFileName().toString();
        return name.substring(0, name.length() - SUFFIX.length());
    }

    private static Dictionary<String, Object> read(Path file) throws IOException {
        Properties properties = SettingsFile.read(file);
        Dictionary<String, Object> values = new Hashtable<>();
        properties.stringPropertyNames().forEach(key -> values.put(key, properties.getProperty(key)));
        return values;
    }
}
