package io.waybill.cli.node;

import io.waybill.api.admin.SettingChange;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Settings of a running node. Rereads the files, and reports the differences.
 *
 * <p><b>Threads.</b> Any.
 */
final class RunningSettings {

    /** Settings that a running node applies. The page on configuration has the same list. */
    static final Set<String> LIVE = Set.of(
            "parking.max-duration",
            "parking.max-messages",
            "retention.departed-workers",
            "retention.max-age",
            "retention.max-cycles");

    /** Action that applies the settings that can change at run time. */
    @FunctionalInterface
    interface Use {
        void take(NodeSettings now) throws IOException;
    }

    private final Path directory;
    private final Map<String, String> running; // guarded by this

    RunningSettings(Path directory) throws IOException {
        this.directory = directory;
        this.running = new TreeMap<>(NodeConf.values(directory));
    }

    /**
     * Rereads the files, applies the settings that can change, and returns the differences. A setting that needs a
     * restart is returned each time until then.
     *
     * @throws IOException if a file can't be read or is invalid; then no setting was applied
     */
    synchronized List<SettingChange> reload(Use use) throws IOException {
        NodeSettings now = NodeConf.read(directory).settings();
        Map<String, String> wanted = NodeConf.values(directory);
        List<SettingChange> changes = changes(wanted);
        if (changes.stream().anyMatch(SettingChange::applied)) {
            use.take(now);
            LIVE.forEach(key -> running.put(key, wanted.get(key)));
        }
        return changes;
    }

    private List<SettingChange> changes(Map<String, String> wanted) {
        Set<String> keys = new TreeSet<>(running.keySet());
        keys.addAll(wanted.keySet());
        List<SettingChange> changes = new ArrayList<>();
        for (String key : keys) {
            String from = running.getOrDefault(key, "");
            String to = wanted.getOrDefault(key, "");
            if (!from.equals(to)) {
                changes.add(new SettingChange(key, from, to, LIVE.contains(key)));
            }
        }
        return changes;
    }
}
