package io.waybill.osgi.script;

import io.waybill.api.Script;
import java.nio.file.Path;

/**
 * Copy of a script in a directory that only this process may write.
 *
 * @param copy discarded by the class that staged it
 * @param origin deployed path, for texts
 */
record StagedScript(ScriptName name, Path copy, String origin, String sha256) {

    Script.Form form() {
        return name.form();
    }
}
