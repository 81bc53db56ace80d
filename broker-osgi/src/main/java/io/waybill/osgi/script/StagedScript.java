package io.waybill.osgi.script;

import io.waybill.api.Script;
import java.nio.file.Path;

/**
 * A script that was copied to where only this process may write.
 *
 * @param copy discarded by the class that staged it
 * @param origin where it was put, for texts
 */
record StagedScript(ScriptName name, Path copy, String origin, String sha256) {

    Script.Form form() {
        return name.form();
    }
}
