package io.waybill.cli.node;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The values of the settings that a node runs with. Reads the files again, and says what is different.
 *
 * <p><b>Threads.</b> Any.
 */
final class RunningSettings {

    /** Settings that a running node takes over. Configuration has the same list. */
    static final Set<String> LIVE = Set.of(
            "parking.max-duration",
            "parking.max-messages",
            "retention.departed-workers",
            "retention.max-age",
            "retention.max-cycles");

    /** Takes over those of the settings that can change in a running node. */
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
     * Reads the files, takes over what can be, and returns what is different. A setting that needs a restart is returned each time until then.
     *
     * @throws IOException when a file can't be read or is invalid; then nothing was taken over
     */
    synchronized List<SettingChange> reload(Use use) throws IOException {
        NodeSettings now = NodeConf.read(directory).settings();
        Map<String, String> wanted = NodeConf.values(directory);
        List<SettingChange> changes = changes(wanted);
        if (changes.stream().anyMatch(SettingChange::isApplied)) {
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
