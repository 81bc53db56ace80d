package io.waybill.replay;

import io.waybill.osgi.jar.ShippedBundles;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/**
 * Parts of a node's framework outside its worker's directory. Immutable.
 *
 * @param bundles {@code <start level>/<name>.jar}
 * @param shipped selection of bundles that start
 * @param conf directory of files {@code <PID>.cfg}; empty for none
 * @param framework properties of the framework
 */
public record NodeDistribution(
        Path bundles, ShippedBundles shipped, Optional<Path> conf, Map<String, String> framework) {

    public NodeDistribution {
        Objects.requireNonNull(bundles);
        Objects.requireNonNull(shipped);
        Objects.requireNonNull(conf);
        framework = Map.copyOf(framework);
    }

    /** Returns a distribution with all its bundles, and no settings. */
    public static NodeDistribution of(Path bundles) {
        return new NodeDistribution(bundles, ShippedBundles.ALL, Optional.empty(), Map.of());
    }
}
