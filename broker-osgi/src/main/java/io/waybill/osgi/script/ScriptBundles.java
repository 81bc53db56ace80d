package io.waybill.osgi.script;

import io.waybill.osgi.jar.StagedJar;
import java.io.IOException;
import java.net.URL;
import java.nio.channels.Channels;
import java.nio.channels.ReadableByteChannel;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Enumeration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.BundleEvent;
import org.osgi.util.tracker.BundleTracker;
import org.osgi.util.tracker.BundleTrackerCustomizer;

/**
 * Serves the scripts of bundles that name them in their manifest: {@code Waybill-Scripts: scripts, more/math.py},
 * folders and files in the jar, separated by commas. Such a bundle needs no other content. Its scripts are served while
 * it is active.
 *
 * <p><b>Threads.</b> Any: the framework calls on the thread that starts or stops a bundle.
 */
public final class ScriptBundles implements BundleTrackerCustomizer<List<String>>, AutoCloseable {

    private static final int RANKING = 0;
    private static final int MAX_FILES = 1_000;

    private final ScriptShelf shelf;
    private final ScriptStaging staging;
    private final BundleTracker<List<String>> tracker;
    private final Map<Long, List<String>> locations = new ConcurrentHashMap<>();

    public ScriptBundles(BundleContext context, ScriptShelf shelf, ScriptStaging staging) {
        this.shelf = shelf;
        this.staging = staging;
        this.tracker = new BundleTracker<>(context, Bundle.ACTIVE, this);
    }

    public void open() {
        tracker.open();
    }

    @Override
    public void close() {
        tracker.close();
    }

    /** Problem of a bundle's script that is not served. */
    public record Problem(String text, boolean mayPass) {}

    /** Returns the problems of an active bundle's scripts. */
    public List<Problem> problems(Bundle bundle) {
        List<Problem> problems = new ArrayList<>();
        for (String location : locations.getOrDefault(bundle.getBundleId(), List.of())) {
            shelf.problem(location)
                    .ifPresent(text -> problems.add(new Problem(
                            location.substring(location.indexOf('!') + 1) + ": " + text,
                            text.equals(ScriptShelf.NO_OWNER))));
        }
        return problems;
    }

    @Override
    public List<String> addingBundle(Bundle bundle, BundleEvent event) {
        String header = bundle.getHeaders("").get(StagedJar.SCRIPTS);
        if (header == null) {
            return null;
        }
        List<String> taken = new ArrayList<>();
        Map<String, URL> entries = entries(bundle, header);
        if (entries.isEmpty()) {
            refuse(bundle, header, "", "no .py or .pt is there", taken);
        } else if (entries.size() > MAX_FILES) {
            refuse(bundle, header, "", "more than " + MAX_FILES + " scripts", taken);
        } else {
            entries.forEach((path, content) -> take(bundle, path, content, taken));
        }
        locations.put(bundle.getBundleId(), List.copyOf(taken));
        return taken;
    }

    @Override
    public void modifiedBundle(Bundle bundle, BundleEvent event, List<String> taken) {
        // ACTIVE is the only state that is tracked, and an update leaves it.
    }

    @Override
    public void removedBundle(Bundle bundle, BundleEvent event, List<String> taken) {
        locations.remove(bundle.getBundleId());
        taken.forEach(shelf::remove);
    }

    private static Map<String, URL> entries(Bundle bundle, String header) {
        Map<String, URL> entries = new TreeMap<>();
        for (String path : header.split(",")) {
            String clean = path.strip().replaceAll("^/+|/+$", "");
            URL file = ScriptName.isScript(fileName(clean)) ? bundle.getEntry(clean) : null;
            if (file != null) {
                entries.put(clean, file);
                continue;
            }
            Enumeration<URL> found = bundle.findEntries(clean, null, false);
            for (URL url : found == null ? List.<URL>of() : Collections.list(found)) {
                if (ScriptName.isScript(fileName(url.getPath()))) {
                    entries.put(url.getPath().replaceAll("^/+", ""), url);
                }
            }
        }
        return entries;
    }

    private static String fileName(String path) {
        return path.substring(path.lastIndexOf('/') + 1);
    }

    private void take(Bundle bundle, String path, URL content, List<String> taken) {
        String fileName = fileName(path);
        Optional<ScriptName> name = ScriptName.parse(fileName);
        if (name.isEmpty()) {
            refuse(bundle, path, "", ScriptName.problem(fileName), taken);
        } else if (taken.stream().anyMatch(location -> isOf(location, name.get().module()))) {
            refuse(bundle, path, name.get().module(), "another script of this bundle has this name", taken);
        } else {
            try (ReadableByteChannel in = Channels.newChannel(content.openStream())) {
                StagedScript staged = staging.stage(name.get(), origin(bundle, path), in);
                String location = location(bundle, path);
                taken.add(location);
                shelf.put(location, staged, RANKING);
            } catch (IOException e) {
                refuse(bundle, path, name.get().module(), String.valueOf(e.getMessage()), taken);
            }
        }
    }

    private void refuse(Bundle bundle, String path, String module, String problem, List<String> taken) {
        taken.add(location(bundle, path));
        shelf.refuse(location(bundle, path), module, origin(bundle, path), problem);
    }

    private static boolean isOf(String location, String module) {
        String fileName = fileName(location);
        return ScriptName.isScript(fileName)
                && ScriptName.parse(fileName)
                        .map(ScriptName::module)
                        .filter(module::equals)
                        .isPresent();
    }

    private static String location(Bundle bundle, String path) {
        return "bundle " + bundle.getBundleId() + "!" + path;
    }

    private static String origin(Bundle bundle, String path) {
        return bundle.getSymbolicName() + " " + bundle.getVersion() + ": " + path;
    }
}
