package io.waybill.osgi.script;

import java.util.List;
import java.util.Optional;

/**
 * What an operator sees of a script.
 *
 * @param module the first part of its functions' names; empty when it has no usable one
 * @param origin where it was put
 * @param sha256 of what runs, in hexadecimal; empty when nothing does
 * @param sinceWallNs when it began to run, or was refused
 * @param schemas of the functions that run
 * @param problem what is wrong with what lies there now, when something is
 */
public record ScriptStatus(
        String module, String origin, String sha256, long sinceWallNs, List<String> schemas, Optional<String> problem) {

    public ScriptStatus {
        schemas = List.copyOf(schemas);
    }
}
