package io.waybill.python;

import io.waybill.python.pool.PoolSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.osgi.framework.BundleContext;

/** What {@code conf/io.waybill.python.cfg} says, checked. Immutable. */
final class PythonSettings {

    private static final int MAX_POOL = 256;

    /** Runs a module as -m does, but without the node's current directory among the places that modules are imported from. */
    private static final String RUN = "import runpy, sys; sys.path[:1] = [each for each in sys.path[:1] if each]; "
            + "runpy.run_module(sys.argv[1], run_name='__main__', alter_sys=True)";

    private static final String SHARE = "waybill.share";

    private final Config config;
    private final Path socket; // null for the default

    /** The keys; in the file they have dots instead of underscores. */
    @interface Config {

        /** Path of the socket; empty for python.sock in the node's directory. */
        String socket() default "";

        /** The interpreter of the pool, such as that of a virtual environment. */
        String interpreter() default "python3";

        /** Directories that the pool's processes import from first, separated by colons. */
        String path() default "";

        /** The module that a pool process runs. */
        String pool_module() default "waybill.pool";

        /** Max number of pool processes; 0 for no pool. */
        int pool_size() default 2;

        /** Milliseconds that a pool process may take to begin. */
        int pool_start_ms() default 60_000;

        /** Milliseconds that a call may go on after its deadline, before its process is killed. */
        int kill_after_ms() default 1_000;

        /** Whether calls to the pool may contain code. */
        boolean by_value() default false;

        /** Whether changed modules below the path take effect. */
        boolean reload() default true;
    }

    /** @throws IllegalArgumentException for a value that is none; the message names the key */
    PythonSettings(Config config) {
        this.config = config;
        this.socket = config.socket().isBlank() ? null : Path.of(config.socket().strip());
        if (socket != null && !socket.isAbsolute()) {
            throw new IllegalArgumentException("socket is an absolute path, or empty: " + config.socket());
        }
        if (config.pool_size() < 0 || config.pool_size() > MAX_POOL) {
            throw new IllegalArgumentException("pool.size is from 0 to " + MAX_POOL + ": " + config.pool_size());
        }
        if (config.pool_start_ms() < 1 || config.kill_after_ms() < 0) {
            throw new IllegalArgumentException("pool.start.ms is 1 or more, and kill.after.ms 0 or more: "
                    + config.pool_start_ms() + ", " + config.kill_after_ms());
        }
    }

    /** Returns where the distribution has the Python package; empty when this runs without one. */
    static Optional<String> client(BundleContext context) {
        String share = context.getProperty(SHARE);
        return share == null || share.isEmpty()
                ? Optional.empty()
                : Optional.of(Path.of(share, "python").toString());
    }

    Optional<Path> socket() {
        return Optional.ofNullable(socket);
    }

    /**
     * Returns those of the pool.
     *
     * @param client where the Python package is, if it is known
     * @param script a program whose functions and operations are served, too; empty for none
     */
    PoolSettings pool(Optional<String> client, String script) {
        List<String> command = List.of(
                config.interpreter().strip(), "-c", RUN, config.pool_module().strip());
        List<String> path = new ArrayList<>();
        if (!config.path().isBlank()) {
            for (String each : config.path().split(":")) {
                path.add(each.strip());
            }
        }
        client.ifPresent(path::add);
        return new PoolSettings(
                command,
                path,
                config.pool_size(),
                Duration.ofMillis(config.pool_start_ms()),
                Duration.ofMillis(config.kill_after_ms()),
                config.by_value(),
                script,
                config.reload());
    }
}
